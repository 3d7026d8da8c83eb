-- What became of the deliveries of the submissions. It is what people see: the jobs of the queue,
-- whose tables are its own, only work on it.
CREATE TABLE deliveries (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the number that operators see
  submission_id text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  target        text NOT NULL,
  job           bigint NOT NULL, -- the one that works on it; others have nothing to do
  progress      bigint NOT NULL DEFAULT 3, -- 0: ended, 1: failed, 2: to be tried again, 3: not tried yet
  attempts      bigint NOT NULL DEFAULT 0,
  max_attempts  bigint NOT NULL,
  created_at    bigint NOT NULL,
  next_at       bigint NOT NULL, -- time of the next try; 0: at once
  started_at    bigint NOT NULL DEFAULT 0, -- when the try began that is running; 0: none is
  finished_at   bigint NOT NULL DEFAULT 0,
  reason        text NOT NULL DEFAULT '', -- why it was not sent or, as long as it has not ended, why it waits
  errors        text NOT NULL DEFAULT '', -- JSON: the last tries that failed
  sending       bigint NOT NULL DEFAULT 0, -- number of the operator's repetition
  arrived       text NOT NULL DEFAULT '', -- the parts of the sending that arrived, with blanks between them
  UNIQUE (submission_id, target)
);
CREATE INDEX deliveries_unended ON deliveries (progress, target, created_at, submission_id) WHERE progress > 0;
