-- The address of the account, if its provider has verified it; empty: not known.
ALTER TABLE operator_sessions ADD COLUMN email text NOT NULL DEFAULT '';
