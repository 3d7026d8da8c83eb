-- Where visitors came from, at first and at last. A touch is JSON, empty if the client did not say;
-- source and campaign are parts of it, by which sessions are counted.
ALTER TABLE sessions ADD COLUMN first_touch TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN first_source TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN first_campaign TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_touch TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_source TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_campaign TEXT NOT NULL DEFAULT '';
