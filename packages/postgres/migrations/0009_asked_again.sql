-- A request is known by its time, so that one from a clock behind the mark of an erasure is new, and a record that comes again is not.
ALTER TABLE erasure_requests ADD COLUMN asked_ms bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN erasure_requests.asked_ms IS 'requested_at_ms of the records that were taken, the latest ones: a record that comes again changes nothing';
COMMENT ON COLUMN erasure_requests.requested_at_ms IS 'greatest of all requests, Unix epoch ms; behind the mark before it where a clock was behind';
UPDATE erasure_requests SET asked_ms =
  ARRAY(SELECT (one->>'requested_at_ms')::bigint FROM jsonb_array_elements(marks) AS one) || requested_at_ms;
