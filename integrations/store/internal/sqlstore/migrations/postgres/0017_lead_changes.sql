-- What changed of submissions lately, for the pages that show them. Triggers write a row with each
-- change and in its transaction. A row gets its number before the transaction ends, so that a
-- smaller number may appear after a greater one.
CREATE TABLE lead_changes (
  seq  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at   bigint NOT NULL,
  lead text COLLATE "C" NOT NULL, -- id of the submission
  kind bigint NOT NULL -- 1: created, 2: changed, 3: deleted
);

CREATE FUNCTION note_lead_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text;
  kind bigint := 2;
BEGIN
  IF TG_TABLE_NAME <> 'submissions' THEN
    changed := NEW.submission_id;
  ELSIF TG_OP = 'DELETE' THEN
    changed := OLD.id;
    kind := 3;
  ELSE
    changed := NEW.id;
    kind := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE 2 END;
  END IF;

  -- One row is enough for several changes in a transaction, to whose end the setting lasts.
  IF kind = 2 AND current_setting('siteapi.noted_lead', true) = changed THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('siteapi.noted_lead', changed, true);
  INSERT INTO lead_changes (at, lead, kind)
  VALUES ((extract(epoch FROM clock_timestamp()) * 1000)::bigint, changed, kind);
  RETURN NULL;
END
$$;

CREATE TRIGGER lead_changes_existence AFTER INSERT OR DELETE ON submissions
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();
-- Being indexed for the search is no change that a page shows.
CREATE TRIGGER lead_changes_submission AFTER UPDATE ON submissions
  FOR EACH ROW WHEN (OLD.searchable = NEW.searchable) EXECUTE FUNCTION note_lead_change();
CREATE TRIGGER lead_changes_delivery AFTER INSERT OR UPDATE OF progress ON deliveries
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();
CREATE TRIGGER lead_changes_note AFTER INSERT ON notes
  FOR EACH ROW EXECUTE FUNCTION note_lead_change();
