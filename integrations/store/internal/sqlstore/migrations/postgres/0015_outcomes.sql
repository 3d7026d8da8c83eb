-- What became of a submission. outcome is empty as long as that is not known, outcome_at 0 if nothing was
-- ever said, in milliseconds; outcome_by is the operator who said it, empty: the CRM.
ALTER TABLE submissions
  ADD COLUMN outcome text NOT NULL DEFAULT '',
  ADD COLUMN won_amount double precision,
  ADD COLUMN won_currency text NOT NULL DEFAULT '',
  ADD COLUMN outcome_at bigint NOT NULL DEFAULT 0,
  ADD COLUMN outcome_by text NOT NULL DEFAULT '';
