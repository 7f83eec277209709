-- Installs and counted money by partner, from folders of `tributary raw`.
CREATE VIEW erased AS
SELECT install_uuid, max(erased_up_to_ms) AS up_to_ms
FROM 'raw/erasures/*.parquet' WHERE install_uuid <> '' GROUP BY install_uuid;

-- The last row of an install is its verdict.
CREATE VIEW verdicts AS
SELECT v.* EXCLUDE nth
FROM (
  SELECT *, row_number() OVER (PARTITION BY install_uuid ORDER BY stored_at_ms DESC, stored_index DESC) AS nth
  FROM 'raw/installs/*.parquet'
) AS v
LEFT JOIN erased AS e USING (install_uuid)
WHERE nth = 1 AND pending = 0 AND least(received_at_ms, installed_at_ms) > coalesce(up_to_ms, 0);

CREATE VIEW money AS
SELECT install_uuid, currency, sum(revenue_micros) / 1e6 AS revenue
FROM 'raw/events/*.parquet' AS p
LEFT JOIN erased AS e USING (install_uuid)
WHERE revenue_counts = 1 AND least(received_at_ms, ts_ms) > coalesce(up_to_ms, 0)
GROUP BY ALL;

SELECT v.partner, count(DISTINCT v.install_uuid) AS installs, m.currency, sum(m.revenue) AS revenue
FROM verdicts AS v LEFT JOIN money AS m USING (install_uuid)
GROUP BY v.partner, m.currency ORDER BY installs DESC;
