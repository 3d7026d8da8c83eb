-- What visitors were asked to agree to. A consent that was given outlives its submission,
-- whose id is then hashed; address is a keyed hash. A wording is stored once.
CREATE TABLE consent_texts (
  hash TEXT PRIMARY KEY NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE consents (
  submission_id TEXT NOT NULL,
  purpose       TEXT NOT NULL,
  given         INTEGER NOT NULL, -- 0 or 1
  at            INTEGER NOT NULL,
  locale        TEXT NOT NULL,
  text_hash     TEXT NOT NULL, -- empty: the client did not say
  site_wording  INTEGER NOT NULL, -- 0 or 1
  address       TEXT NOT NULL,
  withdrawn_at  INTEGER NOT NULL DEFAULT 0, -- 0: not
  PRIMARY KEY (submission_id, purpose)
);
CREATE INDEX consents_by_address ON consents (address);
CREATE INDEX consents_by_text ON consents (text_hash);

-- Keys the hashes of addresses.
CREATE TABLE consent_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key TEXT NOT NULL
);
INSERT INTO consent_key (id, key) VALUES (1, hex(randomblob(32)));
