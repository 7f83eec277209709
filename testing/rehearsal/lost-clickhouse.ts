import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Sent, untilMore } from './sent.ts'
import { type Stage, startAll, stopAll } from './stage.ts'
import type { Steps } from './steps.ts'

/** What `tributary replay` answers. */
export interface Replayed {
  replayed: number
  filled: number
  unknown: number
  clicks_filled?: number
  postbacks_filled?: number
}

/** The file of costs, which an operator keeps: ClickHouse alone has what was loaded. */
export async function writeCosts({ dir }: Stage, partner: string): Promise<string> {
  const path = join(dir, 'costs.csv')
  const day = new Date().toISOString().slice(0, 10)
  await writeFile(path, `day,partner,campaign,cost,currency\n${day},${partner},spring,120.5,USD\n`)
  return path
}

/** kill -9 of the server, and its disk with it. */
export async function loseClickhouse({ fleet }: Stage): Promise<void> {
  const engine = fleet.engine('clickhouse')
  await engine.kill()
  await rm(join(engine.dir, 'data'), { recursive: true })
}

/** What docs/backup.md "A lost ClickHouse" says. Clients go on all the time. */
export async function bringBackClickhouse(stage: Stage, sent: Sent, steps: Steps, more: number): Promise<void> {
  await steps.run('stop what writes tables', () => stopAll(stage.writers))
  await steps.run('clients are answered meanwhile', () => untilMore(sent, more))
  await steps.run('an empty ClickHouse starts', () => stage.fleet.engine('clickhouse').restart())
  await steps.command('tributary migrate', () => stage.tributary<object>('migrate'))
  await steps.run('start what writes tables', () => startAll(stage.writers))
  await steps.command('tributary replay --from-audit', () => stage.tributary<Replayed>('replay', '--from-audit'))
}
