-- What operators did. hash is that of the row before it together with the row itself.
CREATE TABLE audit (
  seq    bigint PRIMARY KEY,
  at     bigint NOT NULL, -- milliseconds
  actor  text NOT NULL,
  action text NOT NULL,
  lead   text COLLATE "C" NOT NULL, -- id of the submission; empty: none, or several
  detail text NOT NULL, -- JSON
  hash   text NOT NULL
);
CREATE INDEX audit_by_lead ON audit (lead, seq);

-- The last row of the audit, and the last one that was deleted because of its age.
CREATE TABLE audit_ends (
  name text PRIMARY KEY,
  seq  bigint NOT NULL,
  hash text NOT NULL
);
INSERT INTO audit_ends (name, seq, hash) VALUES ('head', 0, ''), ('anchor', 0, '');
