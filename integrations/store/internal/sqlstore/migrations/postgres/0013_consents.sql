-- What visitors were asked to agree to. A consent that was given outlives its submission,
-- whose id is then hashed; address is a keyed hash. A wording is stored once.
CREATE TABLE consent_texts (
  hash text COLLATE "C" PRIMARY KEY NOT NULL,
  text text NOT NULL
);
CREATE TABLE consents (
  submission_id text COLLATE "C" NOT NULL,
  purpose       text COLLATE "C" NOT NULL,
  given         bigint NOT NULL, -- 0 or 1
  at            bigint NOT NULL,
  locale        text NOT NULL,
  text_hash     text COLLATE "C" NOT NULL, -- empty: the client did not say
  site_wording  bigint NOT NULL, -- 0 or 1
  address       text COLLATE "C" NOT NULL,
  withdrawn_at  bigint NOT NULL DEFAULT 0, -- 0: not
  PRIMARY KEY (submission_id, purpose)
);
CREATE INDEX consents_by_address ON consents (address);
CREATE INDEX consents_by_text ON consents (text_hash);

-- Keys the hashes of addresses.
CREATE TABLE consent_key (
  id  bigint PRIMARY KEY CHECK (id = 1),
  key text NOT NULL
);
INSERT INTO consent_key (id, key) VALUES (1, gen_random_uuid()::text || gen_random_uuid()::text);
