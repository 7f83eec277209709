import { type Compared, compare, readCosts } from './compare.ts'
import { forgetRead } from './log-retention.ts'
import { bringBackClickhouse, loseClickhouse, type Replayed, writeCosts } from './lost-clickhouse.ts'
import { backUpPostgres, bringBackPostgres, losePostgres } from './lost-postgres.ts'
import { bringPhones, partner, type Sent, sendOfPerson, startSending, untilMore } from './sent.ts'
import { openStage, type Stage } from './stage.ts'
import { noteSteps, type Step, type Steps } from './steps.ts'

export interface RehearsalOptions {
  events_per_second: number
  /** Events that clients send between two steps. */
  events: number
  /** Called with each step that is done. */
  log(line: string): void
}

export interface RehearsalResult {
  steps: readonly Step[]
  compared: readonly Compared[]
  /** True when all that is there is what was sent. */
  exact: boolean
}

/** Phones that come before each loss and after it. */
const phones = 3

/** Runs a fleet under steady load, loses ClickHouse, then PostgreSQL, brings each back as docs/backup.md says, and compares. */
export async function rehearse({ events_per_second, events, log }: RehearsalOptions): Promise<RehearsalResult> {
  const steps = noteSteps(log)
  const stage = await steps.run('a fleet starts', openStage)
  try {
    const compared = await play(stage, steps, { events_per_second, events })
    return { steps: steps.done, compared, exact: compared.every(({ expected, found }) => expected === found) }
  } finally {
    await stage.close()
  }
}

async function play(stage: Stage, steps: Steps, { events_per_second, events }: Omit<RehearsalOptions, 'log'>) {
  const { app_id } = stage.fleet.tenants[0]!
  const makeLink = () =>
    stage.tributary<{ link_id: string }>(
      ...['link', 'create', '--app', app_id, '--partner', partner, '--campaign', 'spring'],
      ...['--fallback-url', 'https://store.example.com/game'],
    )
  const erase = async (install_uuid: string) => {
    await stage.tributary('erase', 'request', install_uuid, '--app', app_id)
    await stage.tributary('erase', 'run')
  }
  await stage.tributary('app', 'set', app_id, '--bundle-id', 'com.example.game')
  const { link_id } = await makeLink()
  const { key } = await stage.tributary<{ key: string }>(
    ...['key', 'create', '--app', app_id, '--label', 'costs', '--scope', 'costs:write'],
  )
  const costs = await writeCosts(stage, partner)
  const loadCosts = () => stage.tributary<object>('cost', 'load', costs, '--key', key)
  await loadCosts()
  const erased = await sendOfPerson(stage)
  const sent: Sent = startSending(stage, events_per_second)
  const moreComes = async () => {
    await bringPhones(stage, sent, link_id, phones)
    await untilMore(sent, events)
  }
  await steps.run('events, clicks, installs and postbacks come', moreComes)
  const backed_up_ms = Date.now()
  await steps.run('PostgreSQL is backed up', () => backUpPostgres(stage))
  const late = await steps.run('a link is made after the backup', makeLink)
  await steps.run('an install is erased after the backup', () => erase(erased))
  await steps.command('the log forgets what is read, as after seven days', async () => ({
    records: await forgetRead(stage),
  }))
  await steps.run('more comes', moreComes)

  await steps.run('ClickHouse is lost', () => loseClickhouse(stage))
  await bringBackClickhouse(stage, sent, steps, events)
  const costs_lost = await readCosts(stage)
  await steps.command('tributary cost load', loadCosts)
  await steps.run('more comes', moreComes)

  await steps.run('PostgreSQL is lost', () => losePostgres(stage))
  await bringBackPostgres(stage, steps, backed_up_ms)
  await steps.run('more comes', moreComes)

  await steps.run('clients end', async () => void (await Promise.all([sent.load.stop(), sent.postbacks.stop()])))
  await steps.run('all that the log holds is read', () => stage.untilRead())
  const again = await steps.command('tributary replay --from-audit --dry-run', () =>
    stage.tributary<Replayed>('replay', '--from-audit', '--dry-run'),
  )
  const { differing } = await steps.command('tributary rebuild --dry-run', () =>
    stage.tributary<{ differing: { table: string }[] }>('rebuild', '--dry-run'),
  )
  return steps.run('all is compared', async () => [
    ...(await compare(stage, sent, { erased, late_link_id: late.link_id })),
    { what: 'costs in reports before they are loaded again', expected: 0, found: costs_lost },
    { what: 'events that a replay would fill', expected: 0, found: again.filled },
    { what: 'tables that a rebuild would fill', expected: '', found: differing.map(({ table }) => table).join() },
  ])
}
