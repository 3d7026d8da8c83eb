-- Sessions of operators who signed in with their account.
CREATE TABLE operator_sessions (
  hash          text COLLATE "C" PRIMARY KEY, -- of the cookie
  subject       text NOT NULL,
  role          text NOT NULL,
  refresh       text NOT NULL, -- the refresh token, encrypted with a key made from the cookie; empty: none
  started_at    bigint NOT NULL, -- milliseconds
  check_at      bigint NOT NULL, -- when the role has to be checked again
  claimed_until bigint NOT NULL DEFAULT 0, -- until then one request checks it, and the others wait
  expires_at    bigint NOT NULL
);
