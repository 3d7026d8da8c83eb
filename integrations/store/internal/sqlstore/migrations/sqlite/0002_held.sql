-- Submissions that look as if a program had sent them wait for review: 1. They have no
-- deliveries until they are released.
ALTER TABLE submissions ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submissions_held ON submissions (submitted_at, id) WHERE held = 1;
