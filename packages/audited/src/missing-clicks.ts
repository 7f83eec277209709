import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { findClicks } from '@tributary/tables/attribution/clicks'

/** Clicks that are looked up at a time. */
export const clicks_together = 1000

/** Those clicks that `clicks_raw_v1` lacks. */
export async function findMissingClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  clicks: readonly KeptClick[],
): Promise<KeptClick[]> {
  const missing: KeptClick[] = []
  for (const [app_id, ofApp] of Map.groupBy(clicks, (click) => click.app_id)) {
    for (let at = 0; at < ofApp.length; at += clicks_together) {
      const asked = ofApp.slice(at, at + clicks_together)
      const found = await findClicks(clickhouse, { app_id, click_ids: asked.map(({ click_id }) => click_id) })
      const known = new Set(found.map(({ click_id }) => click_id))
      missing.push(...asked.filter(({ click_id }) => !known.has(click_id)))
    }
  }
  return missing
}
