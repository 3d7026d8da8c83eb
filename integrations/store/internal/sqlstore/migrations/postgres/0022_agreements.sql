-- An earlier release stores a state, or erases what was typed, without these two columns of 0020. Their address would outlive
-- its erasure: where the new state is not theirs, or has no agreement, they are cleared.
CREATE FUNCTION end_agreement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.saved_email := '';
  NEW.saved_at := 0;
  RETURN NEW;
END
$$;
CREATE TRIGGER sessions_state_stored BEFORE UPDATE OF state ON sessions FOR EACH ROW
  WHEN (NEW.saved_at > 0 AND (NEW.saved_at <> NEW.last_seen OR NEW.state NOT LIKE '%"agreed":true%'))
  EXECUTE FUNCTION end_agreement();

-- What was stored like that before.
UPDATE sessions SET state = state WHERE saved_at > 0;
