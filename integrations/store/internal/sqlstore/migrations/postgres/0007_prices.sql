-- The rules by which choices were priced, so that a price can be computed again for a day
-- after its rules were replaced. replaced_at is 0 for the current rules of a locale.
CREATE TABLE price_rules (
  revision    text COLLATE "C" PRIMARY KEY,
  locale      text NOT NULL,
  rules       text NOT NULL, -- JSON
  first_used  bigint NOT NULL,
  replaced_at bigint NOT NULL
);
