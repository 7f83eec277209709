import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { freezeClicks } from '@tributary/tables/attribution/frozen-clicks'
import { newAppId } from '../writer/events.ts'
import { waitForMerges } from '../writer/prefill.ts'
import { fillApp } from './fill.ts'
import { type BenchApp, now_ms, small_share, tenth_share } from './model.ts'
import { settleAll } from './settler.ts'

/** The apps of filled tables. */
export interface Filled {
  large: BenchApp
  tenth: BenchApp
  settle_s: number
  /** All events are dated before it. */
  until_ms: number
}

/** A fill that is not over. */
interface Filling {
  apps: BenchApp[]
  /** Day of each app before which all days are filled. */
  days: Record<string, number>
}

/** The apps of a folder that a run has kept; null when it is not filled to its end. Throws for one that an older version filled otherwise. */
export function findFilled(kept: string): Filled | null {
  const note = join(kept, 'filled.json')
  if (!existsSync(note)) return null
  const filled: Filled = JSON.parse(readFileSync(note, 'utf8'))
  if (filled.until_ms !== now_ms) throw new Error(`${kept} has events behind the windows of now: fill another folder`)
  return filled
}

/**
 * Fills and settles the tables, or finds them in a folder that an earlier run kept. A fill of such a folder that was broken off
 * goes on, whatever sizes are given.
 */
export async function fillOnce(
  clickhouse: Clickhouse,
  kept: string | undefined,
  { events, apps }: { events: number; apps: number },
): Promise<Filled> {
  const filled = kept === undefined ? null : findFilled(kept)
  if (filled !== null) {
    // Another version may have filled it, and settled less.
    await settleAll(clickhouse)
    return filled
  }
  const write = (file: string, note: object) => {
    if (kept === undefined) return
    const draft = join(kept, `.${file}`)
    writeFileSync(draft, JSON.stringify(note))
    renameSync(draft, join(kept, file))
  }
  const begun = kept && join(kept, 'filling.json')
  const filling: Filling =
    begun && existsSync(begun) ? JSON.parse(readFileSync(begun, 'utf8')) : { apps: newApps(events, apps), days: {} }
  write('filling.json', filling)
  const fill_s = await seconds(async () => {
    for (const app of filling.apps) {
      await fillApp(clickhouse, app, {
        from_day: filling.days[app.app_id] ?? 0,
        filled(day) {
          filling.days[app.app_id] = day
          write('filling.json', filling)
        },
      })
    }
    await freezeClicks(clickhouse, `toDate('${first_day_of_clicks}')`, { now_ms, signal: new AbortController().signal })
    await waitForMerges(clickhouse)
  })
  console.info(`filled in ${fill_s} s`)
  const settle_s = await seconds(async () => {
    await settleAll(clickhouse)
    await waitForMerges(clickhouse)
  })
  console.info(`settled in ${settle_s} s`)
  const [large, tenth] = filling.apps
  const made: Filled = { large: large!, tenth: tenth!, settle_s, until_ms: now_ms }
  write('filled.json', made)
  return made
}

/** As retention has it. Rows of frozen clicks stay, for brute force. */
const first_day_of_clicks = new Date(now_ms - 88 * day_ms).toISOString().slice(0, 10)

/** The large app first, then the one of a tenth. */
const newApps = (events: number, small: number): BenchApp[] =>
  [1, tenth_share, ...Array.from({ length: small }, () => small_share)].map((share) => ({
    app_id: newAppId(),
    events: events * share,
  }))

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return Math.round((performance.now() - started) / 100) / 10
}
