CREATE TABLE fx_rates (
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  day date NOT NULL,
  units_per_eur numeric NOT NULL CHECK (units_per_eur > 0),
  PRIMARY KEY (currency, day)
);
COMMENT ON TABLE fx_rates IS 'reference rates as the ECB publishes them; a later load replaces a rate';
COMMENT ON COLUMN fx_rates.day IS 'UTC date of the rate; it holds until the next day that has one';
COMMENT ON COLUMN fx_rates.units_per_eur IS 'units of the currency for one EUR, exactly as loaded';
