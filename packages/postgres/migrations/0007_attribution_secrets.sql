CREATE TABLE link_secrets (
  app_id text PRIMARY KEY REFERENCES apps,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE link_secrets IS 'signs the click ids of an app; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN link_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE company_salts (
  company_id text PRIMARY KEY REFERENCES companies,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE company_salts IS 'keys the hashes of device ids of a company; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN company_salts.key_id IS 'format and id of the master key that encrypted it, as in apps';
