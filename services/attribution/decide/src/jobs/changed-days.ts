import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { clickDaySql } from './flood-tables.ts'

/** What a day of an app held when it was looked at. */
interface DayCount {
  app_id: string
  /** `YYYY-MM-DD`. */
  day: string
  held: string
}

/** Days of clicks that have changed, by app. */
export interface ChangedDays {
  days: Map<string, string[]>
  /** Notes that they are worked out. Each look finds them again until then. */
  noteDone(): void
}

/**
 * Finds the UTC days of clicks whose clicks or conversions have changed since the last look that was noted as done; at first all. It counts
 * the rows of each day in narrow columns; a merge that removes copies of rows may show a day as changed that is not.
 */
export function changedDays(clickhouse: Pick<Clickhouse, 'query'>): () => Promise<ChangedDays> {
  let known = new Map<string, string>()
  return async () => {
    const [clicks, installs] = await Promise.all([
      clickhouse.query<DayCount>(clicksSql),
      clickhouse.query<DayCount>(claimsSql),
    ])
    const counted = new Map([
      ...clicks.map(({ app_id, day, held }) => [`clicks/${app_id}/${day}`, held] as const),
      ...installs.map(({ app_id, day, held }) => [`installs/${app_id}/${day}`, held] as const),
    ])
    const isChanged = (kind: string) => (one: DayCount) => known.get(`${kind}/${one.app_id}/${one.day}`) !== one.held
    const changed = clicks.filter(isChanged('clicks'))
    // Days of installs, which brought clicks of days before.
    for (const [app_id, of] of Map.groupBy(installs.filter(isChanged('installs')), (one) => one.app_id)) {
      const days = of.map(({ day }) => day)
      changed.push(...(await clickhouse.query<DayCount>(clickDaysSql, { app_id, days })))
    }
    const byApp = Map.groupBy(changed, ({ app_id }) => app_id)
    return {
      days: new Map([...byApp].map(([app_id, of]) => [app_id, [...new Set(of.map(({ day }) => day))]])),
      noteDone: () => {
        known = counted
      },
    }
  }
}

const clicksSql = `SELECT app_id, toString(day) AS day, toString(count()) AS held
  FROM clicks_raw_v1 WHERE filtered_reason = '' GROUP BY app_id, clicks_raw_v1.day`

const claimsSql = `SELECT app_id, toString(day) AS day, concat(toString(count()), '/', toString(sum(sign))) AS held
  FROM install_claims_v1 GROUP BY app_id, install_claims_v1.day`

const clickDaysSql = `SELECT DISTINCT app_id, toString(${clickDaySql}) AS day, '' AS held
  FROM install_claims_v1 WHERE app_id = {app_id:String} AND install_claims_v1.day IN {days:Array(Date)}`
