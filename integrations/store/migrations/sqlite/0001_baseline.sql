-- Times are milliseconds since 1970, UTC.

-- The latest state of each tracked session. No index on last_seen: it would be written with
-- every tracked state for the sake of pruning, which may scan instead.
CREATE TABLE sessions (
  id             TEXT PRIMARY KEY NOT NULL,
  selections     TEXT NOT NULL, -- JSON
  step           INTEGER NOT NULL, -- the last one that was reached, for the funnel
  estimate       TEXT NOT NULL, -- JSON
  locale         TEXT NOT NULL,
  hints          TEXT NOT NULL, -- JSON: what was typed into the contact form; empty: nothing, or it was erased
  mailbox        TEXT NOT NULL, -- key of the mailbox of the address in hints; empty: none
  first_seen     INTEGER NOT NULL,
  last_seen      INTEGER NOT NULL,
  visits         INTEGER NOT NULL, -- tracked states

  -- Where the visitor came from, at first and at last: JSON, with the parts that are counted.
  first_touch    TEXT NOT NULL,
  first_source   TEXT NOT NULL,
  first_campaign TEXT NOT NULL,
  last_touch     TEXT NOT NULL,
  last_source    TEXT NOT NULL,
  last_campaign  TEXT NOT NULL
);
CREATE INDEX sessions_by_mailbox ON sessions (mailbox) WHERE mailbox <> '';

CREATE TABLE leads (
  id             TEXT PRIMARY KEY NOT NULL,
  session_id     TEXT NOT NULL,
  mailbox        TEXT NOT NULL, -- key of the mailbox, which all spellings of its address share
  body           TEXT NOT NULL, -- JSON: the lead as it was accepted
  content_key    TEXT NOT NULL UNIQUE,
  submitted_at   INTEGER NOT NULL,
  review         INTEGER NOT NULL, -- 0: none, or released; 1: in review; 2: rejected

  -- The lowest progress of its deliveries that have not arrived, or 0. The mail to the visitor decides nothing.
  progress       INTEGER NOT NULL DEFAULT 0,

  -- What leads are selected, sorted and counted by, repeated from the body.
  locale         TEXT NOT NULL,
  last_source    TEXT NOT NULL, -- where the visitor came from
  last_campaign  TEXT NOT NULL,
  first_source   TEXT NOT NULL,
  first_campaign TEXT NOT NULL,
  currency       TEXT NOT NULL,
  amount         REAL NOT NULL, -- lower bound of the range
  project_type   TEXT NOT NULL,

  -- How operators work on it.
  owner          TEXT NOT NULL DEFAULT '', -- an address in lower case; empty: none
  status         TEXT NOT NULL DEFAULT 'NEW',

  -- When the visitor asked for its deletion, and when that was declined; 0: never.
  deletion_requested_at INTEGER NOT NULL DEFAULT 0,
  deletion_declined_at  INTEGER NOT NULL DEFAULT 0,
  deletion_reason       TEXT NOT NULL DEFAULT '', -- why it was declined

  follow_up_at   INTEGER NOT NULL DEFAULT 0, -- from when an operator wants to come back to it; 0: never
  answered_at    INTEGER NOT NULL DEFAULT 0, -- when a person first answered it; 0: not yet

  texts          TEXT NOT NULL DEFAULT '', -- the revision of the firm's texts that it was accepted with; empty: none

  -- What became of it. outcome is empty as long as that is not known, outcome_at 0 if nothing was ever said.
  outcome        TEXT NOT NULL DEFAULT '',
  won_amount     REAL,
  won_currency   TEXT NOT NULL DEFAULT '',
  outcome_at     INTEGER NOT NULL DEFAULT 0,
  outcome_by     TEXT NOT NULL DEFAULT '', -- the operator who said it; empty: the CRM
  lost_reason    TEXT NOT NULL DEFAULT '', -- why it was lost; empty: not known
  lost_note      TEXT NOT NULL DEFAULT '' -- the same in words
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
  key        TEXT PRIMARY KEY NOT NULL,
  lead_id    TEXT NOT NULL REFERENCES leads (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_lead ON idempotency_keys (lead_id);

-- By what operators find leads: words in lower case and without diacritics.
CREATE TABLE search_terms (
  term    TEXT NOT NULL,
  lead_id TEXT NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  PRIMARY KEY (term, lead_id)
) WITHOUT ROWID;
CREATE INDEX search_terms_by_lead ON search_terms (lead_id, term);

-- What operators noted about a lead.
CREATE TABLE lead_notes (
  id      INTEGER PRIMARY KEY NOT NULL,
  lead_id TEXT NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  at      INTEGER NOT NULL,
  author  TEXT NOT NULL, -- named as in the audit
  text    TEXT NOT NULL
);
CREATE INDEX lead_notes_by_lead ON lead_notes (lead_id, id);

-- What became of the deliveries of the leads and of what happened to them. It is what people see: the jobs of the
-- queue, whose tables are its own, only work on it. Some outlive their lead, and have nothing of the person.
CREATE TABLE deliveries (
  id           INTEGER PRIMARY KEY NOT NULL, -- the number that operators see
  lead_id      TEXT NOT NULL, -- it may be erased
  target       TEXT NOT NULL,
  event        TEXT NOT NULL DEFAULT 'created', -- what it notifies the target of
  number       INTEGER NOT NULL DEFAULT 1, -- among those of the lead, the target and the event
  detail       TEXT NOT NULL DEFAULT '', -- JSON: of the event, without personal data
  job          INTEGER NOT NULL, -- the one that works on it; others have nothing to do
  state        TEXT NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  due_at       INTEGER NOT NULL, -- since when it waits for its target
  next_at      INTEGER NOT NULL, -- time of the next try; 0: at once, whether its target is paused or not
  running_until INTEGER NOT NULL DEFAULT 0, -- when the try that is running is over at the latest; 0: none is
  finished_at  INTEGER NOT NULL DEFAULT 0,
  code         TEXT NOT NULL DEFAULT '', -- why a mail was not sent, or waits
  reason       TEXT NOT NULL DEFAULT '', -- why an operator dismissed it
  paused       TEXT NOT NULL DEFAULT '', -- the error that pauses its target
  errors       TEXT NOT NULL DEFAULT '[]', -- JSON: the last tries that failed
  sending      INTEGER NOT NULL DEFAULT 0, -- number of the operator's repetition, added to number
  arrived      TEXT NOT NULL DEFAULT '', -- JSON: the parts of the sending that arrived
  handed_over  TEXT NOT NULL DEFAULT '{}', -- JSON: the parts that were handed over without a response
  records      TEXT NOT NULL DEFAULT '', -- JSON: the records of the CRM that the delivery made or found
  recipient    TEXT NOT NULL DEFAULT '', -- a corrected address; empty: the lead's
  mailbox      TEXT NOT NULL DEFAULT '', -- key of its mailbox

  -- Of two that have not arrived, the lower one needs more attention. 0: it arrived, or is not sent.
  progress     INTEGER NOT NULL GENERATED ALWAYS AS
    (CASE state WHEN 'failed' THEN 1 WHEN 'retrying' THEN 2 WHEN 'pending' THEN 3 ELSE 0 END) STORED,
  UNIQUE (lead_id, target, event, number)
);
CREATE INDEX deliveries_by_mailbox ON deliveries (mailbox) WHERE mailbox <> '';
CREATE INDEX deliveries_unended ON deliveries (state, target, due_at, lead_id) WHERE progress > 0;
CREATE INDEX deliveries_refused ON deliveries (finished_at) WHERE code = 'REFUSED';

CREATE TRIGGER deliveries_inserted AFTER INSERT ON deliveries
WHEN NEW.progress > 0 AND NEW.target <> 'visitor_mail' AND NEW.event = 'created' BEGIN
  UPDATE leads SET progress = NEW.progress WHERE id = NEW.lead_id AND (progress = 0 OR progress > NEW.progress);
END;
CREATE TRIGGER deliveries_updated AFTER UPDATE OF state ON deliveries BEGIN
  UPDATE leads SET progress = lowest.progress
  FROM (SELECT coalesce(min(progress), 0) AS progress FROM deliveries
    WHERE lead_id = NEW.lead_id AND progress > 0 AND target <> 'visitor_mail' AND event = 'created') AS lowest
  WHERE id = NEW.lead_id AND leads.progress <> lowest.progress;
END;
CREATE TRIGGER deliveries_deleted AFTER DELETE ON deliveries BEGIN
  UPDATE leads SET progress = lowest.progress
  FROM (SELECT coalesce(min(progress), 0) AS progress FROM deliveries
    WHERE lead_id = OLD.lead_id AND progress > 0 AND target <> 'visitor_mail' AND event = 'created') AS lowest
  WHERE id = OLD.lead_id AND leads.progress <> lowest.progress;
END;

-- The database's time.
CREATE VIEW clock AS SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now;

-- What changed of leads lately, for the pages that show them. Triggers write a row with each change and in
-- its transaction, so that an older row may appear after a newer one.
CREATE TABLE lead_changes (
  seq  INTEGER PRIMARY KEY NOT NULL,
  at   INTEGER NOT NULL,
  lead TEXT NOT NULL, -- id of the lead
  kind INTEGER NOT NULL -- 1: created, 2: changed, 3: deleted
);
CREATE INDEX lead_changes_by_time ON lead_changes (at);
CREATE TRIGGER lead_changes_inserted AFTER INSERT ON leads BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, NEW.id, 1 FROM clock;
END;
CREATE TRIGGER lead_changes_updated AFTER UPDATE ON leads BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, NEW.id, 2 FROM clock;
END;
CREATE TRIGGER lead_changes_deleted AFTER DELETE ON leads BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, OLD.id, 3 FROM clock;
END;
-- Of other leads, such as new ones, the progress changes with the first delivery.
CREATE TRIGGER lead_changes_delivery_inserted AFTER INSERT ON deliveries
WHEN (SELECT progress FROM leads WHERE id = NEW.lead_id) IN (1, 2) BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, NEW.lead_id, 2 FROM clock;
END;
CREATE TRIGGER lead_changes_delivery_updated AFTER UPDATE OF state ON deliveries BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, NEW.lead_id, 2 FROM clock;
END;
CREATE TRIGGER lead_changes_note_inserted AFTER INSERT ON lead_notes BEGIN
  INSERT INTO lead_changes (at, lead, kind) SELECT now, NEW.lead_id, 2 FROM clock;
END;

-- The receivers of content changes, each with the number of its latest change and of the calls that it is
-- owed since then. behind_since and changed_at, the time of the latest change, matter only while it is owed any.
CREATE TABLE edge_receivers (
  name         TEXT PRIMARY KEY NOT NULL,
  change       INTEGER NOT NULL,
  owed         INTEGER NOT NULL,
  called_at    INTEGER NOT NULL DEFAULT 0, -- when the last call began
  behind_since INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL
);

-- The mails to visitors of the last day, and the networks that leads came from, as keyed
-- hashes. A row is deleted a day after it was last needed.
CREATE TABLE visitor_mails (
  lead_id   TEXT NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
  sending   INTEGER NOT NULL, -- 0, or the number of an operator's repetition
  network   TEXT NOT NULL DEFAULT '',
  address   TEXT NOT NULL DEFAULT '',
  sent_at   INTEGER NOT NULL DEFAULT 0, -- 0: not yet
  needed_at INTEGER NOT NULL,
  PRIMARY KEY (lead_id, sending)
) WITHOUT ROWID;
CREATE INDEX visitor_mails_by_address ON visitor_mails (address, sent_at);
CREATE INDEX visitor_mails_by_network ON visitor_mails (network, sent_at);
CREATE INDEX visitor_mails_by_time ON visitor_mails (sent_at);

-- Written by each transaction that counts mails, so that they run one after the other.
CREATE TABLE visitor_mails_turn (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
);
INSERT INTO visitor_mails_turn (id, at) VALUES (1, 0);

-- What visitors were asked to agree to. A consent that was given outlives its lead, whose id
-- is then hashed; address is a keyed hash.
CREATE TABLE consents (
  lead_id      TEXT NOT NULL,
  purpose      TEXT NOT NULL,
  given        INTEGER NOT NULL, -- 0 or 1
  text         TEXT NOT NULL, -- the wording; empty: the client did not say
  at           INTEGER NOT NULL,
  locale       TEXT NOT NULL,
  site_wording INTEGER NOT NULL, -- 0 or 1
  address      TEXT NOT NULL,
  withdrawn_at INTEGER NOT NULL DEFAULT 0, -- 0: not
  PRIMARY KEY (lead_id, purpose)
);
CREATE INDEX consents_by_address ON consents (address);

-- Leads that the webhook may have got. They are kept until their erasure is announced, which may be after retention
-- deleted the lead; address is a keyed hash.
CREATE TABLE announced_leads (
  lead_id TEXT PRIMARY KEY NOT NULL,
  address TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX announced_leads_by_address ON announced_leads (address);

-- Keys the hashes of addresses and networks.
CREATE TABLE hash_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
);
INSERT INTO hash_key (id, key) VALUES (1, hex(randomblob(32)));

-- Versions of documents of the CMS. A price can be computed again for a day after its rules were replaced, and a
-- lead keeps the texts that it was accepted with. replaced_at is 0 for the current version of a kind and locale.
CREATE TABLE revisions (
  revision    TEXT PRIMARY KEY NOT NULL,
  kind        TEXT NOT NULL, -- prices or texts
  locale      TEXT NOT NULL, -- empty: all of them
  body        TEXT NOT NULL, -- JSON
  replaced_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Operators who signed in with their account to the inbox, or granted access to an assistant.
CREATE TABLE logins (
  hash          TEXT PRIMARY KEY NOT NULL, -- of the cookie, or of the key in the tokens of a grant
  subject       TEXT NOT NULL,
  email         TEXT NOT NULL, -- the address of the account, if its provider has verified it; empty: not known
  role          TEXT NOT NULL,
  secrets       TEXT NOT NULL, -- tokens of the provider, encrypted with a key derived from the cookie or that key
  started_at    INTEGER NOT NULL,
  check_at      INTEGER NOT NULL, -- when the role has to be checked again
  claimed_until INTEGER NOT NULL DEFAULT 0, -- until then one request checks it, and the others wait
  expires_at    INTEGER NOT NULL,
  client        TEXT NOT NULL, -- the assistant; empty: a login to the inbox
  grant_state   TEXT NOT NULL -- JSON from which the tokens of a grant are derived; empty: a login to the inbox
) WITHOUT ROWID;

-- Requests of assistants for access, until their operator decides.
CREATE TABLE authorizations (
  hash       TEXT PRIMARY KEY NOT NULL, -- of the cookie
  request    TEXT NOT NULL, -- encrypted with a key derived from the cookie
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What operators did. hash is that of the row before it together with the row itself.
CREATE TABLE audit (
  seq    INTEGER PRIMARY KEY NOT NULL,
  at     INTEGER NOT NULL,
  actor  TEXT NOT NULL,
  action TEXT NOT NULL,
  lead   TEXT NOT NULL, -- id of the lead; empty: none, or several
  detail TEXT NOT NULL, -- JSON
  hash   TEXT NOT NULL
);
CREATE INDEX audit_by_lead ON audit (lead, seq);

-- How operators are shown: by the verified address of the account, or the name of the token.
CREATE TABLE operators (
  actor TEXT PRIMARY KEY NOT NULL, -- named as in the audit
  name  TEXT NOT NULL
) WITHOUT ROWID;

-- The last row of the audit.
CREATE TABLE audit_head (
  seq  INTEGER NOT NULL,
  hash TEXT NOT NULL
);
INSERT INTO audit_head (seq, hash) VALUES (0, '');

-- What the service notes for its other instances and for commands, such as its settings.
CREATE TABLE service_notes (
  name TEXT PRIMARY KEY NOT NULL,
  text TEXT NOT NULL -- mostly JSON
) WITHOUT ROWID;

-- Written by health checks, to prove that the database takes writes.
CREATE TABLE pulse (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
);
INSERT INTO pulse (id, at) VALUES (1, 0);
