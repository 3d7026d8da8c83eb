-- What operators did. hash is that of the row before it together with the row itself.
CREATE TABLE audit (
  seq    INTEGER PRIMARY KEY NOT NULL,
  at     INTEGER NOT NULL, -- milliseconds
  actor  TEXT NOT NULL,
  action TEXT NOT NULL,
  lead   TEXT NOT NULL, -- id of the submission; empty: none, or several
  detail TEXT NOT NULL, -- JSON
  hash   TEXT NOT NULL
);
CREATE INDEX audit_by_lead ON audit (lead, seq);

-- The last row of the audit, and the last one that was deleted because of its age.
CREATE TABLE audit_ends (
  name TEXT PRIMARY KEY NOT NULL,
  seq  INTEGER NOT NULL,
  hash TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO audit_ends (name, seq, hash) VALUES ('head', 0, ''), ('anchor', 0, '');
