-- Server keys may upload costs. Uploads are numbered: of two with the same time, the later one counts.
ALTER TABLE server_keys
  DROP CONSTRAINT server_keys_scopes_check,
  ADD CONSTRAINT server_keys_scopes_check
    CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['events:write', 'reports:read', 'costs:write']);

CREATE SEQUENCE cost_numbers;
COMMENT ON SEQUENCE cost_numbers IS 'numbers of uploads of costs, which costs_v1 of ClickHouse holds';
