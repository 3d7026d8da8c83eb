-- What became of a submission. outcome is empty as long as that is not known, outcome_at 0 if nothing was
-- ever said, in milliseconds; outcome_by is the operator who said it, empty: the CRM.
ALTER TABLE submissions ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN won_amount REAL;
ALTER TABLE submissions ADD COLUMN won_currency TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN outcome_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE submissions ADD COLUMN outcome_by TEXT NOT NULL DEFAULT '';
