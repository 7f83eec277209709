-- Server keys may state attributions: history from another provider.
ALTER TABLE server_keys
  DROP CONSTRAINT server_keys_scopes_check,
  ADD CONSTRAINT server_keys_scopes_check
    CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['events:write', 'reports:read', 'costs:write', 'attribution:write']);
