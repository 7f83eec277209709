-- A role that the identity provider gave holds for a day: an open session outlives it otherwise, and so does a claim that is not read any more.
ALTER TABLE memberships ADD COLUMN claimed_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN memberships.claimed_at IS 'the last sign-in with the claim that gave the role; says nothing of a role that people gave';

-- What waits for the answer of the identity provider is in the cookie of the browser.
DROP TABLE oidc_transactions;
