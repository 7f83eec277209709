-- Up to when claims without a receipt were joined with those that a receipt confirmed.
CREATE TABLE joined_claims (
  is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
  until_ms bigint NOT NULL
);
COMMENT ON COLUMN joined_claims.until_ms IS 'by the clock of ClickHouse, Unix epoch ms';

-- Which install bought what, for the notifications of the stores: these name a purchase and no install.
CREATE TABLE store_purchases (
  app_id text NOT NULL REFERENCES apps,
  original_hash bytea NOT NULL CHECK (octet_length(original_hash) = 32),
  install_uuid text,
  dated_at_ms bigint NOT NULL,
  PRIMARY KEY (app_id, original_hash)
);
CREATE INDEX store_purchases_of_install ON store_purchases (app_id, install_uuid);
COMMENT ON TABLE store_purchases IS 'purchases that a store confirmed, each with the first install whose receipt named it';
COMMENT ON COLUMN store_purchases.original_hash IS 'SHA-256 of what all transactions of the purchase have in common';
COMMENT ON COLUMN store_purchases.install_uuid IS 'null: it was erased, and what the store says later is dropped';
COMMENT ON COLUMN store_purchases.dated_at_ms IS 'the earlier of receipt and date of the event with the receipt, Unix epoch ms: an erasure takes what is dated up to its mark';

-- Notifications that are events of an install that no receipt has named yet.
CREATE TABLE waiting_notifications (
  app_id text NOT NULL REFERENCES apps,
  notification_id text NOT NULL,
  original_hash bytea NOT NULL CHECK (octet_length(original_hash) = 32),
  notified text NOT NULL,
  until_ms bigint NOT NULL,
  PRIMARY KEY (app_id, notification_id)
);
CREATE INDEX waiting_notifications_of_purchase ON waiting_notifications (app_id, original_hash);
CREATE INDEX waiting_notifications_old ON waiting_notifications (until_ms);
COMMENT ON TABLE waiting_notifications IS 'notifications of the stores without a known install, of 30 days';
COMMENT ON COLUMN waiting_notifications.notified IS 'JSON of the event that it becomes, and of its audit object';
