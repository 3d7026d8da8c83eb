-- An idempotency key that comes again with other content is refused now. What was kept
-- of such requests becomes leads in review, under the ids that are in their bodies;
-- content that is a lead already is not kept twice.
LOCK TABLE submission_repeats IN ACCESS EXCLUSIVE MODE;
INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held)
SELECT body::json->>'id', body::json->>'sessionId', lower(body::json#>>'{contact,email}'),
  body, content_key, received_at, 1
FROM submission_repeats ORDER BY received_at
ON CONFLICT DO NOTHING;
DROP TABLE submission_repeats;
