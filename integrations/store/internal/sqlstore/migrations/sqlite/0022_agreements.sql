-- An earlier release stores a state, or erases what was typed, without these two columns of 0020. Their address would outlive
-- its erasure: where the new state is not theirs, or has no agreement, they are cleared.
CREATE TRIGGER sessions_state_stored AFTER UPDATE OF state ON sessions
WHEN NEW.saved_at > 0 AND (NEW.saved_at <> NEW.last_seen OR NEW.state NOT LIKE '%"agreed":true%') BEGIN
  UPDATE sessions SET saved_email = '', saved_at = 0 WHERE id = NEW.id;
END;

-- What was stored like that before.
UPDATE sessions SET state = state WHERE saved_at > 0;
