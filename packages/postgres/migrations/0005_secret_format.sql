COMMENT ON COLUMN apps.signing_secret_key_id IS 'format and id of the master key that encrypted it, v2:1a2b3c4d (AES-256-GCM, additional data: purpose, company_id, app_id); an id alone: the first format (app_id)';
COMMENT ON COLUMN old_signing_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';
COMMENT ON COLUMN master_key_check.key_id IS 'format and id of the master key that encrypted it, as in apps';
