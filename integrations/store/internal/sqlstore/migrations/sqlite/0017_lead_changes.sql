-- What changed of submissions lately, for the pages that show them. Triggers write a row with each
-- change and in its transaction. The newest row is never deleted, so that numbers only grow.
CREATE TABLE lead_changes (
  seq  INTEGER PRIMARY KEY NOT NULL,
  at   INTEGER NOT NULL,
  lead TEXT NOT NULL, -- id of the submission
  kind INTEGER NOT NULL -- 1: created, 2: changed, 3: deleted
);

CREATE TRIGGER lead_changes_inserted AFTER INSERT ON submissions BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, 1);
END;
-- Being indexed for the search is no change that a page shows.
CREATE TRIGGER lead_changes_updated AFTER UPDATE ON submissions WHEN OLD.searchable = NEW.searchable BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.id, 2);
END;
CREATE TRIGGER lead_changes_deleted AFTER DELETE ON submissions BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), OLD.id, 3);
END;
CREATE TRIGGER lead_changes_delivery_inserted AFTER INSERT ON deliveries BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.submission_id, 2);
END;
CREATE TRIGGER lead_changes_delivery_updated AFTER UPDATE OF progress ON deliveries BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.submission_id, 2);
END;
CREATE TRIGGER lead_changes_note_inserted AFTER INSERT ON notes BEGIN
  INSERT INTO lead_changes (at, lead, kind) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.submission_id, 2);
END;
