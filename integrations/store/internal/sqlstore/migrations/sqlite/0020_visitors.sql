-- Visitors who agreed that what they type is kept: the key of the mailbox (see submissions.email), and when they were
-- last seen. Empty and 0 without an address or an agreement, and after a lead. Where saved_at is not last_seen, an earlier
-- release stored the state: whether the agreement still stands is not known.
ALTER TABLE sessions ADD COLUMN saved_email TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN saved_at INTEGER NOT NULL DEFAULT 0;

-- Sessions without an agreement write nothing to these.
CREATE INDEX sessions_saved ON sessions (saved_at, id) WHERE saved_at > 0;
CREATE INDEX sessions_saved_email ON sessions (saved_email) WHERE saved_at > 0;
