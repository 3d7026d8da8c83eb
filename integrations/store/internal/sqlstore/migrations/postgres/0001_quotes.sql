-- Times are milliseconds since 1970, UTC. Keys compare bytewise, whatever the
-- database's collation, so that pages and locks are ordered as Go orders strings.

-- The latest state of each tracked session. No index on last_seen: it would make
-- every update write to the indexes for the sake of pruning, which may scan instead.
CREATE TABLE sessions (
  id         text COLLATE "C" PRIMARY KEY,
  state      text NOT NULL, -- JSON: selections, estimate, hints
  first_seen bigint NOT NULL,
  last_seen  bigint NOT NULL,
  visits     bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE submissions (
  id           text COLLATE "C" PRIMARY KEY,
  session_id   text NOT NULL,
  email        text NOT NULL, -- in lower case, for look-ups only
  body         text NOT NULL, -- JSON: the submission as it was accepted
  content_key  text NOT NULL UNIQUE,
  submitted_at bigint NOT NULL
);
CREATE INDEX submissions_by_time ON submissions (submitted_at, id);
CREATE INDEX submissions_by_email ON submissions (email);
CREATE INDEX submissions_by_session ON submissions (session_id);

-- Idempotency keys. One is stored before its submission, so the reference is
-- checked at the end of the transaction.
CREATE TABLE submission_keys (
  key           text COLLATE "C" PRIMARY KEY,
  submission_id text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  created_at    bigint NOT NULL
);
CREATE INDEX submission_keys_by_submission ON submission_keys (submission_id);

-- What was sent under an idempotency key that already stood for other content.
CREATE TABLE submission_repeats (
  submission_id   text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  content_key     text COLLATE "C" NOT NULL,
  idempotency_key text NOT NULL,
  body            text NOT NULL,
  received_at     bigint NOT NULL,
  PRIMARY KEY (submission_id, content_key)
);

-- Written by health checks, to prove that the database takes writes.
CREATE TABLE pulse (
  id integer PRIMARY KEY CHECK (id = 1),
  at bigint NOT NULL
);
INSERT INTO pulse (id, at) VALUES (1, 0);
