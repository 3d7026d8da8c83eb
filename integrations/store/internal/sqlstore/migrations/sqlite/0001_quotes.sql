-- Times are milliseconds since 1970, UTC.

-- The latest state of each tracked session. No index on last_seen: it would be
-- written by every tracked state for the sake of pruning, which may scan instead.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY NOT NULL,
  state      TEXT NOT NULL, -- JSON: selections, estimate, hints
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL,
  visits     INTEGER NOT NULL
);

CREATE TABLE submissions (
  id           TEXT PRIMARY KEY NOT NULL,
  session_id   TEXT NOT NULL,
  email        TEXT NOT NULL, -- in lower case, for look-ups only
  body         TEXT NOT NULL, -- JSON: the submission as it was accepted
  content_key  TEXT NOT NULL UNIQUE,
  submitted_at INTEGER NOT NULL
);
CREATE INDEX submissions_by_time ON submissions (submitted_at, id);
CREATE INDEX submissions_by_email ON submissions (email);
CREATE INDEX submissions_by_session ON submissions (session_id);

-- Idempotency keys. One is stored before its submission, so the reference is
-- checked at the end of the transaction.
CREATE TABLE submission_keys (
  key           TEXT PRIMARY KEY NOT NULL,
  submission_id TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  created_at    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX submission_keys_by_submission ON submission_keys (submission_id);

-- What was sent under an idempotency key that already stood for other content.
CREATE TABLE submission_repeats (
  submission_id   TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  content_key     TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body            TEXT NOT NULL,
  received_at     INTEGER NOT NULL,
  PRIMARY KEY (submission_id, content_key)
) WITHOUT ROWID;

-- Written by health checks, to prove that the database takes writes.
CREATE TABLE pulse (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
);
INSERT INTO pulse (id, at) VALUES (1, 0);
