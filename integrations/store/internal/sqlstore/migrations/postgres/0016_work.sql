-- What leads are selected, sorted and counted by, as columns beside the body. The rows that an
-- earlier release writes meanwhile are not searchable yet: the program fills them in. After
-- them comes how operators work on a lead, and how far its deliveries are.
ALTER TABLE submissions
  ADD COLUMN locale text NOT NULL DEFAULT '',
  ADD COLUMN source text NOT NULL DEFAULT '', -- where the visitor came from at last
  ADD COLUMN currency text NOT NULL DEFAULT '',
  ADD COLUMN amount double precision NOT NULL DEFAULT 0, -- lower bound of the range
  ADD COLUMN owner text NOT NULL DEFAULT '', -- an address in lower case; empty: none
  ADD COLUMN status bigint NOT NULL DEFAULT 0, -- 0: new, 1: contacted, 2: waiting, 3: closed
  -- The lowest progress of its deliveries that have not ended, or 0. The mail to the visitor decides nothing.
  ADD COLUMN progress bigint NOT NULL DEFAULT 0;

UPDATE submissions SET
  locale = coalesce(body::json->>'locale', ''),
  source = coalesce(body::json#>>'{attribution,source}', ''),
  currency = coalesce(body::json#>>'{estimate,currency}', ''),
  amount = coalesce((body::json#>>'{estimate,min}')::double precision, 0),
  progress = coalesce((SELECT min(progress) FROM deliveries
    WHERE submission_id = submissions.id AND deliveries.progress > 0 AND target <> 'visitor_mail'), 0),
  searchable = CASE searchable WHEN 2 THEN 3 ELSE searchable END;
DROP INDEX submissions_not_searchable;
CREATE INDEX submissions_not_searchable ON submissions (id) WHERE searchable < 3;

-- One for each order of a listing, with all columns that a filter asks for.
DROP INDEX submissions_by_time;
CREATE INDEX submissions_by_time ON submissions
  (submitted_at, id, held, progress, status, owner, locale, source, currency, amount);
CREATE INDEX submissions_by_amount ON submissions
  (amount, submitted_at, id, held, progress, status, owner, locale, source, currency);
CREATE INDEX submissions_unended ON submissions (submitted_at, id) WHERE progress > 0;

-- The lock makes changes of two deliveries of one lead take turns: what follows sees both.
CREATE FUNCTION keep_progress() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  lead text := CASE TG_OP WHEN 'DELETE' THEN OLD.submission_id ELSE NEW.submission_id END;
  lowest bigint;
BEGIN
  PERFORM 1 FROM submissions WHERE id = lead FOR NO KEY UPDATE;
  SELECT coalesce(min(progress), 0) INTO lowest FROM deliveries
    WHERE submission_id = lead AND progress > 0 AND target <> 'visitor_mail';
  UPDATE submissions SET progress = lowest WHERE id = lead AND progress <> lowest;
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_changed AFTER INSERT OR DELETE OR UPDATE OF progress ON deliveries
  FOR EACH ROW EXECUTE FUNCTION keep_progress();

-- What operators noted about a lead.
CREATE TABLE notes (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  submission_id text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  at            bigint NOT NULL, -- milliseconds
  author        text NOT NULL, -- named as in the audit
  text          text NOT NULL
);
CREATE INDEX notes_by_submission ON notes (submission_id, id);
