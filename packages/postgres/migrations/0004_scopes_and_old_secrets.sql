ALTER TABLE server_keys ADD COLUMN scopes text[] NOT NULL DEFAULT ARRAY['events:write', 'reports:read']
  CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['events:write', 'reports:read']);
COMMENT ON COLUMN server_keys.scopes IS 'what the key may do';

CREATE TABLE old_signing_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  ends_at timestamptz NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
CREATE INDEX old_signing_secrets_app ON old_signing_secrets (app_id, ends_at);
COMMENT ON TABLE old_signing_secrets IS 'signing secrets that a rotation replaced and that are valid until ends_at; each change comes with one of apps, which tells the gateways';
COMMENT ON COLUMN old_signing_secrets.key_id IS 'id of the master key that encrypted it, as in apps';
