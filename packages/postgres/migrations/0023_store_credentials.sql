-- The credentials of an app at the stores, encrypted as signing secrets are. An app without a row has none.
CREATE TABLE apple_keys (
  app_id text PRIMARY KEY REFERENCES apps,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE apple_keys IS 'keys of the App Store Server API: JSON of issuer id, key id and private key';
COMMENT ON COLUMN apple_keys.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE google_accounts (
  app_id text PRIMARY KEY REFERENCES apps,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE google_accounts IS 'service accounts of the Play Developer API: JSON of address, key id and private key';
COMMENT ON COLUMN google_accounts.key_id IS 'format and id of the master key that encrypted it, as in apps';
