-- What a funnel counts of a session's state: last step, project type, complexity, timeline and
-- features, such as 2|web-app|medium||blog,seo. It is that of counted_at: where that is not
-- last_seen, an earlier release stored the state, and the program fills it in.
ALTER TABLE sessions ADD COLUMN choices TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN counted_at INTEGER NOT NULL DEFAULT 0;

-- Where a visitor came from, beside the source that a submission has already.
ALTER TABLE submissions ADD COLUMN campaign TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN first_source TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN first_campaign TEXT NOT NULL DEFAULT '';
UPDATE submissions SET
  campaign = coalesce(json_extract(body, '$.attribution.campaign'), ''),
  first_source = coalesce(json_extract(body, '$.firstAttribution.source'), ''),
  first_campaign = coalesce(json_extract(body, '$.firstAttribution.campaign'), '')
WHERE body LIKE '%ttribution":{%';

DROP INDEX submissions_by_session;
CREATE INDEX submissions_by_session ON submissions (session_id, submitted_at, id, held, locale, outcome);
