-- What a funnel counts of a session's state: last step, project type, complexity, timeline and
-- features, such as 2|web-app|medium||blog,seo. It is that of counted_at: where that is not
-- last_seen, an earlier release stored the state, and the program fills it in.
ALTER TABLE sessions
  ADD COLUMN choices text NOT NULL DEFAULT '',
  ADD COLUMN counted_at bigint NOT NULL DEFAULT 0;

-- Where a visitor came from, beside the source that a submission has already.
ALTER TABLE submissions
  ADD COLUMN campaign text NOT NULL DEFAULT '',
  ADD COLUMN first_source text NOT NULL DEFAULT '',
  ADD COLUMN first_campaign text NOT NULL DEFAULT '';
UPDATE submissions SET
  campaign = coalesce(body::json#>>'{attribution,campaign}', ''),
  first_source = coalesce(body::json#>>'{firstAttribution,source}', ''),
  first_campaign = coalesce(body::json#>>'{firstAttribution,campaign}', '')
WHERE body LIKE '%ttribution":{%';

DROP INDEX submissions_by_session;
CREATE INDEX submissions_by_session ON submissions (session_id, submitted_at, id, held, locale, outcome);
