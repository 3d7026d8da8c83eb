-- Times are milliseconds since 1970, UTC. Keys compare bytewise, whatever the database's collation,
-- so that pages and locks are ordered as Go orders strings.

-- The latest state of each tracked session. No index on last_seen: it would be written with
-- every tracked state for the sake of pruning, which may scan instead.
CREATE TABLE sessions (
  id             text COLLATE "C" PRIMARY KEY,
  selections     text NOT NULL, -- JSON
  step           bigint NOT NULL, -- the last one that was reached, for the funnel
  estimate       text NOT NULL, -- JSON
  locale         text NOT NULL,
  hints          text NOT NULL, -- JSON: what was typed into the contact form; empty: nothing, or it was erased
  mailbox        text NOT NULL, -- key of the mailbox of the address in hints; empty: none
  first_seen     bigint NOT NULL,
  last_seen      bigint NOT NULL,
  visits         bigint NOT NULL, -- tracked states

  -- Where the visitor came from, at first and at last: JSON, with the parts that are counted.
  first_touch    text NOT NULL,
  first_source   text NOT NULL,
  first_campaign text NOT NULL,
  last_touch     text NOT NULL,
  last_source    text NOT NULL,
  last_campaign  text NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_mailbox ON sessions (mailbox) WHERE mailbox <> '';

CREATE TABLE leads (
  id             text COLLATE "C" PRIMARY KEY,
  session_id     text NOT NULL,
  mailbox        text NOT NULL, -- key of the mailbox, which all spellings of its address share
  body           text NOT NULL, -- JSON: the lead as it was accepted
  content_key    text NOT NULL UNIQUE,
  submitted_at   bigint NOT NULL,
  review         bigint NOT NULL, -- 0: none, or released; 1: in review; 2: rejected

  -- The lowest progress of its deliveries that have not arrived, or 0. The mail to the visitor decides nothing.
  progress       bigint NOT NULL DEFAULT 0,

  -- What leads are selected, sorted and counted by, repeated from the body.
  locale         text NOT NULL,
  last_source    text NOT NULL, -- where the visitor came from
  last_campaign  text NOT NULL,
  first_source   text NOT NULL,
  first_campaign text NOT NULL,
  currency       text NOT NULL,
  amount         double precision NOT NULL, -- lower bound of the range
  project_type   text NOT NULL,

  -- How operators work on it.
  owner          text NOT NULL DEFAULT '', -- an address in lower case; empty: none
  status         text NOT NULL DEFAULT 'NEW',

  -- When the visitor asked for its deletion, and when that was declined; 0: never.
  deletion_requested_at bigint NOT NULL DEFAULT 0,
  deletion_declined_at  bigint NOT NULL DEFAULT 0,
  deletion_reason       text NOT NULL DEFAULT '', -- why it was declined

  follow_up_at   bigint NOT NULL DEFAULT 0, -- from when an operator wants to come back to it; 0: never
  answered_at    bigint NOT NULL DEFAULT 0, -- when a person first answered it; 0: not yet

  texts          text NOT NULL DEFAULT '', -- the revision of the firm's texts that it was accepted with; empty: none

  -- What became of it. outcome is empty as long as that is not known, outcome_at 0 if nothing was ever said.
  outcome        text NOT NULL DEFAULT '',
  won_amount     double precision,
  won_currency   text NOT NULL DEFAULT '',
  outcome_at     bigint NOT NULL DEFAULT 0,
  outcome_by     text NOT NULL DEFAULT '', -- the operator who said it; empty: the CRM
  lost_reason    text NOT NULL DEFAULT '', -- why it was lost; empty: not known
  lost_note      text NOT NULL DEFAULT '' -- the same in words
);
CREATE INDEX leads_by_texts ON leads (texts) WHERE texts <> '';
CREATE INDEX leads_by_mailbox ON leads (mailbox);
CREATE INDEX leads_by_session ON leads (session_id, submitted_at, id, review, locale, outcome);
CREATE INDEX leads_in_review ON leads (submitted_at, id) WHERE review = 1;
CREATE INDEX leads_rejected ON leads (submitted_at, id) WHERE review = 2;
CREATE INDEX leads_to_delete ON leads (submitted_at, id) WHERE deletion_requested_at > 0 AND deletion_declined_at = 0;
CREATE INDEX leads_to_follow_up ON leads (submitted_at, id) WHERE follow_up_at > 0;
CREATE INDEX leads_unended ON leads (submitted_at, id) WHERE progress > 0;

-- One for each order of a listing, with all columns that a filter asks for.
CREATE INDEX leads_by_time ON leads
  (submitted_at, id, review, progress, status, owner, locale, last_source, currency, amount, project_type);
CREATE INDEX leads_by_amount ON leads
  (amount, submitted_at, id, review, progress, status, owner, locale, last_source, currency, project_type);

-- A key is stored before its lead, so the reference is checked at the end of the transaction.
CREATE TABLE idempotency_keys (
  key        text COLLATE "C" PRIMARY KEY,
  lead_id    text COLLATE "C" NOT NULL REFERENCES leads (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX idempotency_keys_by_lead ON idempotency_keys (lead_id);

-- By what operators find leads: words in lower case and without diacritics.
CREATE TABLE search_terms (
  term    text COLLATE "C" NOT NULL,
  lead_id text COLLATE "C" NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  PRIMARY KEY (term, lead_id)
);
CREATE INDEX search_terms_by_lead ON search_terms (lead_id, term);

-- What operators noted about a lead.
CREATE TABLE lead_notes (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lead_id text COLLATE "C" NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  at      bigint NOT NULL,
  author  text NOT NULL, -- named as in the audit
  text    text NOT NULL
);
CREATE INDEX lead_notes_by_lead ON lead_notes (lead_id, id);

-- What became of the deliveries of the leads and of what happened to them. It is what people see: the jobs of the
-- queue, whose tables are its own, only work on it. Some outlive their lead, and have nothing of the person.
CREATE TABLE deliveries (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the number that operators see
  lead_id      text COLLATE "C" NOT NULL, -- it may be erased
  target       text NOT NULL,
  event        text NOT NULL DEFAULT 'created', -- what it notifies the target of
  number       bigint NOT NULL DEFAULT 1, -- among those of the lead, the target and the event
  detail       text NOT NULL DEFAULT '', -- JSON: of the event, without personal data
  job          bigint NOT NULL, -- the one that works on it; others have nothing to do
  state        text NOT NULL,
  attempts     bigint NOT NULL DEFAULT 0,
  max_attempts bigint NOT NULL,
  created_at   bigint NOT NULL,
  due_at       bigint NOT NULL, -- since when it waits for its target
  next_at      bigint NOT NULL, -- time of the next try; 0: at once, whether its target is paused or not
  running_until bigint NOT NULL DEFAULT 0, -- when the try that is running is over at the latest; 0: none is
  finished_at  bigint NOT NULL DEFAULT 0,
  code         text NOT NULL DEFAULT '', -- why a mail was not sent, or waits
  reason       text NOT NULL DEFAULT '', -- why an operator dismissed it
  paused       text NOT NULL DEFAULT '', -- the error that pauses its target
  errors       text NOT NULL DEFAULT '[]', -- JSON: the last tries that failed
  sending      bigint NOT NULL DEFAULT 0, -- number of the operator's repetition, added to number
  arrived      text NOT NULL DEFAULT '', -- JSON: the parts of the sending that arrived
  handed_over  text NOT NULL DEFAULT '{}', -- JSON: the parts that were handed over without a response
  records      text NOT NULL DEFAULT '', -- JSON: the records of the CRM that the delivery made or found
  recipient    text NOT NULL DEFAULT '', -- a corrected address; empty: the lead's
  mailbox      text NOT NULL DEFAULT '', -- key of its mailbox

  -- Of two that have not arrived, the lower one needs more attention. 0: it arrived, or is not sent.
  progress     bigint NOT NULL GENERATED ALWAYS AS
    (CASE state WHEN 'failed' THEN 1 WHEN 'retrying' THEN 2 WHEN 'pending' THEN 3 ELSE 0 END) STORED,
  UNIQUE (lead_id, target, event, number)
);
CREATE INDEX deliveries_by_mailbox ON deliveries (mailbox) WHERE mailbox <> '';
CREATE INDEX deliveries_unended ON deliveries (state, target, due_at, lead_id) WHERE progress > 0;
CREATE INDEX deliveries_refused ON deliveries (finished_at) WHERE code = 'REFUSED';

-- The lock makes changes of two deliveries of one lead take turns: what follows sees both.
CREATE FUNCTION keep_progress() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text := CASE TG_OP WHEN 'DELETE' THEN OLD.lead_id ELSE NEW.lead_id END;
  lowest bigint;
BEGIN
  PERFORM 1 FROM leads WHERE id = changed FOR NO KEY UPDATE;
  SELECT coalesce(min(progress), 0) INTO lowest FROM deliveries
    WHERE lead_id = changed AND progress > 0 AND target <> 'visitor_mail' AND event = 'created';
  UPDATE leads SET progress = lowest WHERE id = changed AND progress <> lowest;
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_changed AFTER INSERT OR DELETE OR UPDATE OF state ON deliveries
  FOR EACH ROW EXECUTE FUNCTION keep_progress();

-- The database's time.
CREATE VIEW clock AS SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now;

-- What changed of leads lately, for the pages that show them. Triggers write a row with each change and in
-- its transaction, so that an older row may appear after a newer one.
CREATE TABLE lead_changes (
  seq  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at   bigint NOT NULL,
  lead text COLLATE "C" NOT NULL, -- id of the lead
  kind bigint NOT NULL -- 1: created, 2: changed, 3: deleted
);
CREATE INDEX lead_changes_by_time ON lead_changes (at);

CREATE FUNCTION note_lead_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text;
  kind bigint := 2;
BEGIN
  IF TG_TABLE_NAME <> 'leads' THEN
    changed := NEW.lead_id;
  ELSIF TG_OP = 'DELETE' THEN
    changed := OLD.id;
    kind := 3;
  ELSE
    changed := NEW.id;
    kind := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE 2 END;
  END IF;

  -- One row is enough for several changes in a transaction, to whose end the setting lasts.
  IF kind = 2 AND current_setting('siteapi.noted_lead', true) = changed THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('siteapi.noted_lead', changed, true);
  INSERT INTO lead_changes (at, lead, kind) SELECT now, changed, kind FROM clock;
  RETURN NULL;
END
$$;
CREATE TRIGGER lead_changes_lead AFTER INSERT OR UPDATE OR DELETE ON leads
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();
CREATE TRIGGER lead_changes_delivery AFTER INSERT OR UPDATE OF state ON deliveries
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();
CREATE TRIGGER lead_changes_note AFTER INSERT ON lead_notes
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();

-- The receivers of content changes, each with the number of its latest change and of the calls that it is
-- owed since then. behind_since and changed_at, the time of the latest change, matter only while it is owed any.
CREATE TABLE edge_receivers (
  name         text PRIMARY KEY NOT NULL,
  change       bigint NOT NULL,
  owed         bigint NOT NULL,
  called_at    bigint NOT NULL DEFAULT 0, -- when the last call began
  behind_since bigint NOT NULL,
  changed_at   bigint NOT NULL
);

-- The mails to visitors of the last day, and the networks that leads came from, as keyed
-- hashes. A row is deleted a day after it was last needed.
CREATE TABLE visitor_mails (
  lead_id   text COLLATE "C" NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  sending   bigint NOT NULL, -- 0, or the number of an operator's repetition
  network   text COLLATE "C" NOT NULL DEFAULT '',
  address   text COLLATE "C" NOT NULL DEFAULT '',
  sent_at   bigint NOT NULL DEFAULT 0, -- 0: not yet
  needed_at bigint NOT NULL,
  PRIMARY KEY (lead_id, sending)
);
CREATE INDEX visitor_mails_by_address ON visitor_mails (address, sent_at);
CREATE INDEX visitor_mails_by_network ON visitor_mails (network, sent_at);
CREATE INDEX visitor_mails_by_time ON visitor_mails (sent_at);

-- Written by each transaction that counts mails, so that they run one after the other.
CREATE TABLE visitor_mails_turn (
  id bigint PRIMARY KEY CHECK (id = 1),
  at bigint NOT NULL
);
INSERT INTO visitor_mails_turn (id, at) VALUES (1, 0);

-- What visitors were asked to agree to. A consent that was given outlives its lead, whose id
-- is then hashed; address is a keyed hash.
CREATE TABLE consents (
  lead_id      text COLLATE "C" NOT NULL,
  purpose      text COLLATE "C" NOT NULL,
  given        bigint NOT NULL, -- 0 or 1
  text         text NOT NULL, -- the wording; empty: the client did not say
  at           bigint NOT NULL,
  locale       text NOT NULL,
  site_wording bigint NOT NULL, -- 0 or 1
  address      text COLLATE "C" NOT NULL,
  withdrawn_at bigint NOT NULL DEFAULT 0, -- 0: not
  PRIMARY KEY (lead_id, purpose)
);
CREATE INDEX consents_by_address ON consents (address);

-- Leads that the webhook may have got. They are kept until their erasure is announced, which may be after retention
-- deleted the lead; address is a keyed hash.
CREATE TABLE announced_leads (
  lead_id text COLLATE "C" PRIMARY KEY,
  address text COLLATE "C" NOT NULL
);
CREATE INDEX announced_leads_by_address ON announced_leads (address);

-- Keys the hashes of addresses and networks.
CREATE TABLE hash_key (
  id  bigint PRIMARY KEY CHECK (id = 1),
  key text NOT NULL
);
INSERT INTO hash_key (id, key) VALUES (1, gen_random_uuid()::text || gen_random_uuid()::text);

-- Versions of documents of the CMS. A price can be computed again for a day after its rules were replaced, and a
-- lead keeps the texts that it was accepted with. replaced_at is 0 for the current version of a kind and locale.
CREATE TABLE revisions (
  revision    text COLLATE "C" PRIMARY KEY,
  kind        text NOT NULL, -- prices or texts
  locale      text NOT NULL, -- empty: all of them
  body        text NOT NULL, -- JSON
  replaced_at bigint NOT NULL
);

-- Operators who signed in with their account to the inbox, or granted access to an assistant.
CREATE TABLE logins (
  hash          text COLLATE "C" PRIMARY KEY, -- of the cookie, or of the key in the tokens of a grant
  subject       text NOT NULL,
  email         text NOT NULL, -- the address of the account, if its provider has verified it; empty: not known
  role          text NOT NULL,
  secrets       text NOT NULL, -- tokens of the provider, encrypted with a key derived from the cookie or that key
  started_at    bigint NOT NULL,
  check_at      bigint NOT NULL, -- when the role has to be checked again
  claimed_until bigint NOT NULL DEFAULT 0, -- until then one request checks it, and the others wait
  expires_at    bigint NOT NULL,
  client        text NOT NULL, -- the assistant; empty: a login to the inbox
  grant_state   text NOT NULL -- JSON from which the tokens of a grant are derived; empty: a login to the inbox
);

-- Requests of assistants for access, until their operator decides.
CREATE TABLE authorizations (
  hash       text COLLATE "C" PRIMARY KEY, -- of the cookie
  request    text NOT NULL, -- encrypted with a key derived from the cookie
  expires_at bigint NOT NULL
);

-- What operators did. hash is that of the row before it together with the row itself.
CREATE TABLE audit (
  seq    bigint PRIMARY KEY,
  at     bigint NOT NULL,
  actor  text NOT NULL,
  action text NOT NULL,
  lead   text COLLATE "C" NOT NULL, -- id of the lead; empty: none, or several
  detail text NOT NULL, -- JSON
  hash   text NOT NULL
);
CREATE INDEX audit_by_lead ON audit (lead, seq);

-- How operators are shown: by the verified address of the account, or the name of the token.
CREATE TABLE operators (
  actor text COLLATE "C" PRIMARY KEY, -- named as in the audit
  name  text NOT NULL
);

-- The last row of the audit.
CREATE TABLE audit_head (
  seq  bigint NOT NULL,
  hash text NOT NULL
);
INSERT INTO audit_head (seq, hash) VALUES (0, '');

-- What the service notes for its other instances and for commands, such as its settings.
CREATE TABLE service_notes (
  name text COLLATE "C" PRIMARY KEY,
  text text NOT NULL -- mostly JSON
);

-- Written by health checks, to prove that the database takes writes.
CREATE TABLE pulse (
  id bigint PRIMARY KEY CHECK (id = 1),
  at bigint NOT NULL
);
INSERT INTO pulse (id, at) VALUES (1, 0);
