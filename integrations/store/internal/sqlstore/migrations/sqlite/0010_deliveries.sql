-- What became of the deliveries of the submissions. It is what people see: the jobs of the queue,
-- whose tables are its own, only work on it.
CREATE TABLE deliveries (
  id            INTEGER PRIMARY KEY NOT NULL, -- the number that operators see
  submission_id TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  target        TEXT NOT NULL,
  job           INTEGER NOT NULL, -- the one that works on it; others have nothing to do
  progress      INTEGER NOT NULL DEFAULT 3, -- 0: ended, 1: failed, 2: to be tried again, 3: not tried yet
  attempts      INTEGER NOT NULL DEFAULT 0,
  max_attempts  INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  next_at       INTEGER NOT NULL, -- time of the next try; 0: at once
  started_at    INTEGER NOT NULL DEFAULT 0, -- when the try began that is running; 0: none is
  finished_at   INTEGER NOT NULL DEFAULT 0,
  reason        TEXT NOT NULL DEFAULT '', -- why it was not sent or, as long as it has not ended, why it waits
  errors        TEXT NOT NULL DEFAULT '', -- JSON: the last tries that failed
  sending       INTEGER NOT NULL DEFAULT 0, -- number of the operator's repetition
  arrived       TEXT NOT NULL DEFAULT '', -- the parts of the sending that arrived, with blanks between them
  UNIQUE (submission_id, target)
);
CREATE INDEX deliveries_unended ON deliveries (progress, target, created_at, submission_id) WHERE progress > 0;
