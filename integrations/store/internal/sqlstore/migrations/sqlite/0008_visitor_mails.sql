-- The mails to visitors of the last day, and the networks that submissions came from, as
-- keyed hashes. A row is deleted a day after it was last needed.
CREATE TABLE visitor_mails (
  submission_id TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  sending       INTEGER NOT NULL, -- 0, or the number of an operator's repetition
  network       TEXT NOT NULL DEFAULT '',
  address       TEXT NOT NULL DEFAULT '',
  sent_at       INTEGER NOT NULL DEFAULT 0, -- 0: not yet
  needed_at     INTEGER NOT NULL,
  PRIMARY KEY (submission_id, sending)
) WITHOUT ROWID;
CREATE INDEX visitor_mails_by_address ON visitor_mails (address, sent_at);
CREATE INDEX visitor_mails_by_network ON visitor_mails (network, sent_at);

-- Written by each transaction that counts mails, so that they run one after the other.
CREATE TABLE visitor_mails_turn (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
);
INSERT INTO visitor_mails_turn (id, at) VALUES (1, 0);
