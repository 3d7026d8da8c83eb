-- Leads are found by company, telephone and domain as well, in terms of version 2. The
-- program adds them for the submissions that are not yet searchable by them.
DROP INDEX submissions_not_searchable;
CREATE INDEX submissions_not_searchable ON submissions (id) WHERE searchable < 2;
