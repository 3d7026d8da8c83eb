-- The mails to visitors of the last day, and the networks that submissions came from, as
-- keyed hashes. A row is deleted a day after it was last needed.
CREATE TABLE visitor_mails (
  submission_id text COLLATE "C" NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  sending       bigint NOT NULL, -- 0, or the number of an operator's repetition
  network       text COLLATE "C" NOT NULL DEFAULT '',
  address       text COLLATE "C" NOT NULL DEFAULT '',
  sent_at       bigint NOT NULL DEFAULT 0, -- 0: not yet
  needed_at     bigint NOT NULL,
  PRIMARY KEY (submission_id, sending)
);
CREATE INDEX visitor_mails_by_address ON visitor_mails (address, sent_at);
CREATE INDEX visitor_mails_by_network ON visitor_mails (network, sent_at);

-- Written by each transaction that counts mails, so that they run one after the other.
CREATE TABLE visitor_mails_turn (
  id bigint PRIMARY KEY CHECK (id = 1),
  at bigint NOT NULL
);
INSERT INTO visitor_mails_turn (id, at) VALUES (1, 0);
