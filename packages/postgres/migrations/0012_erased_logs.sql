-- Where the log stood before an install was erased: keys of events tell both lives apart by it when retention has deleted their rows.
ALTER TABLE tombstones
  ADD COLUMN log text,
  ADD COLUMN log_end bigint,
  ADD CONSTRAINT tombstones_log_check CHECK ((log IS NULL) = (log_end IS NULL));
COMMENT ON COLUMN tombstones.log IS 'name of the log of accepted events of the install, as event-writer knows it; null of clicks, and where event-writer had committed nothing';
COMMENT ON COLUMN tombstones.log_end IS 'its end before the audit store was read for the mark: what the log holds below it is erased';
