-- The column email has the key of a mailbox, which all spellings of its address share. Where that may
-- be other than the address in lower case, the program fills it in.
UPDATE submissions SET searchable = 2
WHERE searchable = 3 AND (length(CAST(email AS BLOB)) <> length(email) OR email LIKE '%"%' OR email LIKE '%.');
