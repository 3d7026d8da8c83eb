-- The last invalidation of each key of the cache. An entry of an earlier generation that
-- the cache server restores from its disk is not served.
CREATE TABLE generations (
  key        TEXT PRIMARY KEY NOT NULL,
  generation INTEGER NOT NULL -- milliseconds since 1970, or one more than the one before
) WITHOUT ROWID;
