-- The rules by which choices were priced, so that a price can be computed again for a day
-- after its rules were replaced. replaced_at is 0 for the current rules of a locale.
CREATE TABLE price_rules (
  revision    TEXT PRIMARY KEY NOT NULL,
  locale      TEXT NOT NULL,
  rules       TEXT NOT NULL, -- JSON
  first_used  INTEGER NOT NULL,
  replaced_at INTEGER NOT NULL
) WITHOUT ROWID;
