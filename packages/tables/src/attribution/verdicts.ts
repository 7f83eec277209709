import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Place } from '@tributary/contracts/attribution/found'

/** A decision as `installs_v1` holds it, with its position on `installs.attributed.v1`. */
export interface WrittenDecision {
  decision: Decision
  place: Omit<Place, 'index'>
}

/** The name of an install among those of all apps. */
export const installName = ({ app_id, install_uuid }: Pick<Decision, 'app_id' | 'install_uuid'>): string =>
  `${app_id}/${install_uuid}`

/** Installs of a statement. Each may read a granule of long texts, and statements of this size stay below 100 ms. */
const installs_max = 500

/**
 * The newest written decision of some installs of an app. `below` leaves out what a partition wrote from an offset of a log
 * on: an earlier try of the same batch may have written it.
 */
export async function findNewest(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  below?: { topic: string; offset: number },
): Promise<Map<string, WrittenDecision>> {
  const installs = install_uuids.map((install_uuid) => ({ app_id, install_uuid }))
  const found = await findNewestOf(clickhouse, installs, below)
  return new Map([...found.values()].map((one) => [one.decision.install_uuid, one]))
}

/** The same for installs of any apps, by `installName`. */
export async function findNewestOf(
  clickhouse: Pick<Clickhouse, 'query'>,
  installs: readonly Pick<Decision, 'app_id' | 'install_uuid'>[],
  below?: { topic: string; offset: number },
): Promise<Map<string, WrittenDecision>> {
  const wanted = new Map(installs.map((one) => [installName(one), one]))
  const ordered = [...wanted.keys()].toSorted().map((name) => wanted.get(name)!)
  const found = new Map<string, WrittenDecision>()
  // Each statement reads a range of its own, because names are in the order of the table's key.
  for (let at = 0; at < ordered.length; at += installs_max) {
    for (const row of await clickhouse.query<NewestRow>(newestSql(ordered.slice(at, at + installs_max), below))) {
      const { decision: text, ...place } = row
      const decision = JSON.parse(text) as Decision
      // Two sets match more than was asked: an id of one app may be one of another app too.
      if (wanted.has(installName(decision))) found.set(installName(decision), { decision, place })
    }
  }
  return found
}

type NewestRow = { decision: string } & WrittenDecision['place']

/**
 * Decisions of an install were written in the order of `decided_at`. Positions do not tell that order across logs, whose
 * names come from clocks. Values stand in the statement: in the embedded engine a statement with parameters waits for reports.
 */
function newestSql(
  installs: readonly Pick<Decision, 'app_id' | 'install_uuid'>[],
  below?: { topic: string; offset: number },
): string {
  const apps = textLiterals(installs.map(({ app_id }) => app_id))
  const uuids = textLiterals(installs.map(({ install_uuid }) => install_uuid))
  const own = below && `AND NOT (topic = ${textLiteral(below.topic)} AND offset >= ${Number(below.offset)})`
  return `
  SELECT decision, topic, partition, offset FROM installs_v1
  WHERE app_id IN (${apps}) AND install_uuid IN (${uuids}) AND sign = 1 ${own ?? ''}
  ORDER BY app_id, install_uuid, ${decidedAt.map((one) => `${one} DESC`).join(', ')}
  LIMIT 1 BY app_id, install_uuid`
}

/**
 * SQL of `decided_at` of a row with sign 1, and of whether a job has filled its country since: sorted by it, the decisions of an install
 * are in their order.
 */
export const decidedAt = [
  `JSONExtractString(decision, 'decided_at', 'log')`,
  `JSONExtractUInt(decision, 'decided_at', 'offset')`,
  `JSONExtractUInt(decision, 'decided_at', 'try')`,
  `JSONHas(decision, 'country')`,
] as const

/** An install that has a click. */
export interface WrittenClaim {
  click_id: string
  install_uuid: string
  installed_at_ms: number
  place: Place
}

/** The installs whose newest verdict is one of these clicks of an app; several may have one for a while. */
export async function findClaims(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  click_ids: readonly string[],
): Promise<WrittenClaim[]> {
  if (click_ids.length === 0) return []
  const rows = await clickhouse.query<Omit<WrittenClaim, 'place'> & Place>(
    `SELECT click_id, install_uuid, installed_at_ms, event_topic AS topic, event_partition AS partition, event_offset AS offset,
       event_index AS index
     FROM install_claims_v1 FINAL
     WHERE app_id = ${textLiteral(app_id)} AND click_id IN (${textLiterals(click_ids)})
     GROUP BY click_id, install_uuid, installed_at_ms, event_topic, event_partition, event_offset, event_index
     HAVING sum(sign) > 0`,
  )
  return rows.map(({ topic, partition, offset, index, ...claim }) => ({
    ...claim,
    place: { topic, partition, offset, index },
  }))
}
