-- How far the deliveries of the submissions have come. Each row is written with the change of
-- its delivery, which is a job of the queue.
CREATE TABLE deliveries (
  submission_id text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  target        text NOT NULL,
  job           bigint NOT NULL,
  progress      bigint NOT NULL, -- 0: ended, 1: failed, 2: to be tried again, 3: not tried yet
  created_at    bigint NOT NULL,
  PRIMARY KEY (submission_id, target)
);
CREATE INDEX deliveries_unended ON deliveries (progress, target, created_at, submission_id) WHERE progress > 0;

-- The last job that was recorded of those that earlier releases made.
CREATE TABLE deliveries_imported (
  id  bigint PRIMARY KEY CHECK (id = 1),
  job bigint NOT NULL
);
INSERT INTO deliveries_imported (id, job) VALUES (1, 0);
