COMMENT ON COLUMN tombstones.number IS 'in the order of their transactions, no smaller than the microseconds of the Unix epoch then: no number is used twice, also not after PostgreSQL was put back';
