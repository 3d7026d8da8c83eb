-- By what operators find leads: words of the name, e-mail address, id and locale, in lower
-- case and without diacritics. The program fills it for the submissions that are not yet
-- searchable.
CREATE TABLE search_terms (
  term          TEXT NOT NULL,
  submission_id TEXT NOT NULL REFERENCES submissions (id) ON DELETE CASCADE,
  PRIMARY KEY (term, submission_id)
) WITHOUT ROWID;
CREATE INDEX search_terms_by_submission ON search_terms (submission_id, term);
ALTER TABLE submissions ADD COLUMN searchable INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submissions_not_searchable ON submissions (id) WHERE searchable = 0;

-- A person rejected them in review: held is 2.
CREATE INDEX submissions_rejected ON submissions (submitted_at, id) WHERE held = 2;
