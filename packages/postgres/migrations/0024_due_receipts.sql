-- Receipts of written events that are judged, or judged again: any receipt-validator works them off.
CREATE TABLE due_receipts (
  app_id text NOT NULL REFERENCES apps,
  install_uuid text NOT NULL,
  day date NOT NULL,
  event_key numeric(20) NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  "offset" bigint NOT NULL,
  event_name text NOT NULL,
  product_id text,
  transaction_id text,
  receipt text,
  asks text CHECK (asks IN ('apple', 'google')),
  dated_at_ms bigint NOT NULL,
  tried_from_ms bigint NOT NULL,
  next_try_ms bigint NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  lease uuid,
  PRIMARY KEY (app_id, topic, partition, "offset", event_key, day)
);
CREATE INDEX due_receipts_due ON due_receipts (app_id, next_try_ms);
CREATE INDEX due_receipts_of_install ON due_receipts (app_id, install_uuid);
COMMENT ON TABLE due_receipts IS 'receipts that no verdict is final of, of 72 hours at most';
COMMENT ON COLUMN due_receipts.receipt IS 'JSON of props.receipt; null: a store sent the event itself';
COMMENT ON COLUMN due_receipts.asks IS 'the store that has to be asked; null: the receipt proves itself';
COMMENT ON COLUMN due_receipts.dated_at_ms IS 'the earlier of receipt and date of its event, Unix epoch ms: an erasure takes what is dated up to its mark';
COMMENT ON COLUMN due_receipts.tried_from_ms IS 'Unix epoch ms: the store is asked for 72 hours from then on';
COMMENT ON COLUMN due_receipts.next_try_ms IS 'Unix epoch ms; under a lease its end';
COMMENT ON COLUMN due_receipts.lease IS 'names the newest try: another one changes nothing any more';

-- What a store said of a receipt, so that it is asked once.
CREATE TABLE store_answers (
  app_id text NOT NULL REFERENCES apps,
  question text NOT NULL,
  answer text NOT NULL,
  until_ms bigint NOT NULL,
  PRIMARY KEY (app_id, question)
);
CREATE INDEX store_answers_old ON store_answers (until_ms);
COMMENT ON TABLE store_answers IS 'answers of the stores: purchases of a day, negatives of an hour';
COMMENT ON COLUMN store_answers.question IS 'SHA-256 of what was asked';
COMMENT ON COLUMN store_answers.until_ms IS 'Unix epoch ms: then the store is asked again';
