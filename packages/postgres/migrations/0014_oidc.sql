-- People who sign in by an identity provider (OpenID Connect).
ALTER TABLE people ALTER COLUMN password DROP NOT NULL;
COMMENT ON COLUMN people.password IS 'argon2id in the PHC string format; null for a person who signs in by the identity provider alone';

CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  person_id text NOT NULL REFERENCES people ON DELETE CASCADE,
  linked_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject),
  UNIQUE (person_id, issuer)
);
COMMENT ON TABLE identities IS 'whom an identity provider calls so: an email there is no proof, as it can change hands';

ALTER TABLE memberships ADD COLUMN by_claim boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN memberships.by_claim IS 'true: the identity provider gave the role, and takes it away at a sign-in';

ALTER TABLE sessions ADD COLUMN proven_by text NOT NULL DEFAULT 'password' CHECK (proven_by IN ('password', 'oidc'));
COMMENT ON COLUMN sessions.proven_at IS 'when the person was last proven';
COMMENT ON COLUMN sessions.proven_by IS 'the proof of that time';

CREATE TABLE oidc_transactions (
  transaction_hash bytea PRIMARY KEY CHECK (octet_length(transaction_hash) = 32),
  purpose text NOT NULL CHECK (purpose IN ('sign_in', 'link', 'confirm')),
  session_id text REFERENCES sessions (session_id) ON DELETE CASCADE,
  began_at timestamptz NOT NULL,
  CHECK ((purpose = 'sign_in') = (session_id IS NULL))
);
CREATE INDEX oidc_transactions_began ON oidc_transactions (began_at);
CREATE INDEX oidc_transactions_session ON oidc_transactions (session_id);
COMMENT ON TABLE oidc_transactions IS 'sign-ins that wait for the answer of the identity provider; a row goes when it is used';
COMMENT ON COLUMN oidc_transactions.transaction_hash IS 'SHA-256 of the token in the cookie, from which state, nonce and code verifier follow';
COMMENT ON COLUMN oidc_transactions.session_id IS 'of a person who links an identity or proves to be there; null for a sign-in';
