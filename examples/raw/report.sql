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

SELECT partner, count(*) AS installs FROM verdicts GROUP BY partner ORDER BY installs DESC;

SELECT v.partner, p.currency, sum(p.revenue_micros) / 1e6 AS revenue
FROM 'raw/events/*.parquet' AS p
JOIN verdicts AS v USING (install_uuid)
LEFT JOIN erased AS e USING (install_uuid)
WHERE p.revenue_counts = 1 AND least(p.received_at_ms, p.ts_ms) > coalesce(e.up_to_ms, 0)
GROUP BY v.partner, p.currency ORDER BY revenue DESC;
