-- An idempotency key that comes again with other content is refused now. What was kept
-- of such requests becomes leads in review, under the ids that are in their bodies;
-- content that is a lead already is not kept twice.
INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held)
SELECT json_extract(body, '$.id'), json_extract(body, '$.sessionId'), lower(json_extract(body, '$.contact.email')),
  body, content_key, received_at, 1
FROM submission_repeats WHERE true ORDER BY received_at
ON CONFLICT DO NOTHING;
DROP TABLE submission_repeats;
