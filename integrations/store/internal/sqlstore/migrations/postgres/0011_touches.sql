-- Where visitors came from, at first and at last. A touch is JSON, empty if the client did not say;
-- source and campaign are parts of it, by which sessions are counted.
ALTER TABLE sessions
  ADD COLUMN first_touch text NOT NULL DEFAULT '',
  ADD COLUMN first_source text NOT NULL DEFAULT '',
  ADD COLUMN first_campaign text NOT NULL DEFAULT '',
  ADD COLUMN last_touch text NOT NULL DEFAULT '',
  ADD COLUMN last_source text NOT NULL DEFAULT '',
  ADD COLUMN last_campaign text NOT NULL DEFAULT '';
