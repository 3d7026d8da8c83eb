-- What leads are selected, sorted and counted by, as columns beside the body. The rows that an
-- earlier release writes meanwhile are not searchable yet: the program fills them in.
ALTER TABLE submissions ADD COLUMN locale TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN source TEXT NOT NULL DEFAULT ''; -- where the visitor came from at last
ALTER TABLE submissions ADD COLUMN currency TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN amount REAL NOT NULL DEFAULT 0; -- lower bound of the range

-- How operators work on a lead.
ALTER TABLE submissions ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- an address in lower case; empty: none
ALTER TABLE submissions ADD COLUMN status INTEGER NOT NULL DEFAULT 0; -- 0: new, 1: contacted, 2: waiting, 3: closed

-- The lowest progress of its deliveries that have not ended, or 0. The mail to the visitor decides nothing.
ALTER TABLE submissions ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;

UPDATE submissions SET
  locale = coalesce(json_extract(body, '$.locale'), ''),
  source = coalesce(json_extract(body, '$.attribution.source'), ''),
  currency = coalesce(json_extract(body, '$.estimate.currency'), ''),
  amount = coalesce(json_extract(body, '$.estimate.min'), 0),
  progress = coalesce((SELECT min(progress) FROM deliveries
    WHERE submission_id = submissions.id AND progress > 0 AND target <> 'visitor_mail'), 0),
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

CREATE TRIGGER deliveries_inserted AFTER INSERT ON deliveries BEGIN
  UPDATE submissions SET progress = lowest.progress
  FROM (SELECT coalesce(min(progress), 0) AS progress FROM deliveries
    WHERE submission_id = NEW.submission_id AND progress > 0 AND target <> 'visitor_mail') AS lowest
  WHERE id = NEW.submission_id AND submissions.progress <> lowest.progress;
END;
CREATE TRIGGER deliveries_updated AFTER UPDATE OF progress ON deliveries BEGIN
  UPDATE submissions SET progress = lowest.progress
  FROM (SELECT coalesce(min(progress), 0) AS progress FROM deliveries
    WHERE submission_id = NEW.submission_id AND progress > 0 AND target <> 'visitor_mail') AS lowest
  WHERE id = NEW.submission_id AND submissions.progress <> lowest.progress;
END;
CREATE TRIGGER deliveries_deleted AFTER DELETE ON deliveries BEGIN
  UPDATE submissions SET progress = lowest.progress
  FROM (SELECT coalesce(min(progress), 0) AS progress FROM deliveries
    WHERE submission_id = OLD.submission_id AND progress > 0 AND target <> 'visitor_mail') AS lowest
  WHERE id = OLD.submission_id AND submissions.progress <> lowest.progress;
END;

-- What operators noted about a lead.
CREATE TABLE notes (
  id            INTEGER PRIMARY KEY NOT NULL,
  submission_id TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  at            INTEGER NOT NULL, -- milliseconds
  author        TEXT NOT NULL, -- named as in the audit
  text          TEXT NOT NULL
);
CREATE INDEX notes_by_submission ON notes (submission_id, id);
