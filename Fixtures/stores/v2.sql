ALTER TABLE account ADD COLUMN cache_limit INTEGER CHECK (cache_limit >= 0);
-- Whether all attachments are pinned, also those to come.
ALTER TABLE account ADD COLUMN pins_all INTEGER NOT NULL DEFAULT 0
    CHECK (pins_all IN (0, 1));
-- How often something was opened: the clock of the cache.
ALTER TABLE account ADD COLUMN opens INTEGER NOT NULL DEFAULT 0;
-- The record that an unfinished check of all files came to, and the share it checks.
ALTER TABLE account ADD COLUMN checked_to BLOB;
ALTER TABLE account ADD COLUMN checked_share INTEGER;

ALTER TABLE attachment ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0
    CHECK (pinned IN (0, 1));
CREATE INDEX pinned_by_record ON attachment(substr(cloud_blob_ref, 106))
    WHERE pinned = 1;
CREATE INDEX thumbnail_here ON attachment(created_at)
    WHERE thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL;

-- What its files may take on the disk; more than they do while they are written.
ALTER TABLE blob ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
-- The count of opens when it was opened last.
ALTER TABLE blob ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
-- When its path was handed out last, in Unix seconds.
ALTER TABLE blob ADD COLUMN handed_at INTEGER;
UPDATE blob SET held = (coalesce(here_size, bytes) + 4095) / 4096 * 4096
    + (max((coalesce(here_size, bytes) + 65535) / 65536, 1) * 16 + 4095) / 4096 * 4096
    + 4096
WHERE here_boot IS NOT NULL OR bytes > 0;
CREATE INDEX blob_by_opened ON blob(opened) WHERE held > 0;

DELETE FROM tally WHERE name = 'cacheBytes';
INSERT INTO tally(name, value) SELECT 'cacheBytes', coalesce(sum(held), 0) FROM blob;
INSERT INTO tally(name, value)
SELECT 'thumbnailBytes', coalesce(sum((thumb_size + 4095) / 4096 * 4096), 0)
FROM attachment WHERE thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL;
