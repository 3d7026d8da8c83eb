-- What one instance at a time does. The time is the database's, in milliseconds.
CREATE VIEW clock AS SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now;
CREATE TABLE leases (
  name       text PRIMARY KEY,
  holder     text NOT NULL,
  note       text NOT NULL, -- JSON: what the holder has to say
  expires_at bigint NOT NULL
);
