-- Sessions of operators who signed in with their account.
CREATE TABLE operator_sessions (
  hash          TEXT PRIMARY KEY NOT NULL, -- of the cookie
  subject       TEXT NOT NULL,
  role          TEXT NOT NULL,
  refresh       TEXT NOT NULL, -- the refresh token, encrypted with a key made from the cookie; empty: none
  started_at    INTEGER NOT NULL, -- milliseconds
  check_at      INTEGER NOT NULL, -- when the role has to be checked again
  claimed_until INTEGER NOT NULL DEFAULT 0, -- until then one request checks it, and the others wait
  expires_at    INTEGER NOT NULL
) WITHOUT ROWID;
