ALTER TABLE apps ADD COLUMN development_keys boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN apps.development_keys IS 'whether postbacks that a development key signed count; it acts when a report is read';

ALTER TABLE apps ADD COLUMN owns_store_id boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN apps.owns_store_id IS 'false: another app has the postbacks of this store_id, which leads links alone';

-- The first app keeps a store id that several have. The others keep theirs as well, for their links.
UPDATE apps later SET owns_store_id = false
WHERE platform = 'ios' AND EXISTS (
  SELECT 1 FROM apps earlier
  WHERE earlier.platform = 'ios' AND ltrim(earlier.store_id, '0') = ltrim(later.store_id, '0')
    AND (earlier.created_at, earlier.app_id) < (later.created_at, later.app_id));

-- Item ids of postbacks are numbers, so leading zeros make no other id.
CREATE UNIQUE INDEX apps_owned_store_id ON apps (ltrim(store_id, '0'))
  WHERE platform = 'ios' AND owns_store_id AND ltrim(store_id, '0') <> '';
