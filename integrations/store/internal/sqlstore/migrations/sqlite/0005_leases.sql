-- What one instance at a time does. The time is the database's, in milliseconds.
CREATE VIEW clock AS SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now;
CREATE TABLE leases (
  name       TEXT PRIMARY KEY NOT NULL,
  holder     TEXT NOT NULL,
  note       TEXT NOT NULL, -- JSON: what the holder has to say
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
