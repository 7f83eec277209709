CREATE TABLE master_key_check (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  bound_to text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL
);
COMMENT ON TABLE master_key_check IS 'one encrypted text; a process whose master key does not decrypt it refuses to start';
COMMENT ON COLUMN master_key_check.bound_to IS 'additional data of AES-256-GCM';
COMMENT ON COLUMN master_key_check.key_id IS 'id of the master key that encrypted it';

-- The key that made the newest secret is the right one; without a secret the first start decides.
INSERT INTO master_key_check (bound_to, key_id, iv, ciphertext, tag)
SELECT app_id, signing_secret_key_id, signing_secret_iv, signing_secret_ciphertext, signing_secret_tag
FROM apps ORDER BY created_at DESC, app_id DESC LIMIT 1;
