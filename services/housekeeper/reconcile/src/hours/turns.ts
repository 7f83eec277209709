import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { StoreDeps } from '../look/look-deps.ts'

/** Apps whose tables a run compares. */
const table_apps_max = 30

/** Whose tables a run compares, and which day of events before yesterday; empty without any. */
export interface Turn {
  old_day: string
  has(app_id: string): boolean
}

/** The turn of an hour: each takes the next apps, and the next day when all apps have had theirs. So each day of each app comes. */
export async function findTurn({ clickhouse }: Pick<StoreDeps, 'clickhouse'>, until_ms: number): Promise<Turn> {
  const [row] = await clickhouse.query<{ apps: string[]; days: string[] }>(
    `SELECT arraySort(groupUniqArray(app_id)) AS apps, arraySort(groupUniqArrayIf(toString(day), day < {before:Date})) AS days
     FROM events_per_day_v1 WHERE NOT startsWith(app_id, '/')`,
    { before: utcDay(until_ms - day_ms) },
  )
  return turnOf({ apps: row?.apps ?? [], days: row?.days ?? [], turn: until_ms / hour_ms })
}

/** The same, of apps and days in order. */
export function turnOf({ apps, days, turn }: { apps: readonly string[]; days: readonly string[]; turn: number }): Turn {
  const rounds = Math.max(1, Math.ceil(apps.length / table_apps_max))
  const chosen = new Set(apps.filter((_, at) => at % rounds === turn % rounds))
  return { old_day: days[Math.floor(turn / rounds) % days.length] ?? '', has: (app_id) => chosen.has(app_id) }
}
