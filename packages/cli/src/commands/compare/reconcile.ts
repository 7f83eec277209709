import { type Difference, ReconcileProgress, reconcileRoutes } from '@tributary/contracts/admin/reconcile'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { instant, instant_forms } from '../../arguments.ts'
import { CliError } from '../../errors.ts'
import { list, print } from '../../output.ts'
import { linesOf } from '../../response-lines.ts'
import { replayAudit } from '../operate/replay.ts'

interface ReconcileOptions {
  since?: number
  app?: string
  repair?: boolean
  json?: boolean
}

const help = `
Compares audit objects, keys and rows of events, sums, settled figures, clicks and postbacks, by app and hour of receipt, and changes
none of them. A job of housekeeper does the same with each hour. --repair then replays from the audit store what came to no writer, and
compares again; "Reconcile" in docs/operations.md says what to do about the rest. Ends with 1 while differences are left.
--json: {hours, differences: [{app_id, hour, store, expected, found, examples}], repaired}. hours counts hours of apps, repaired the
differences that are gone.`

/** Adds `reconcile [--since D] [--app ID] [--repair]`. */
export function reconcileCommand(program: Command): void {
  program
    .command('reconcile')
    .description('compare audit store, log and tables')
    .option('--since <time>', `from the UTC day of this time on, yesterday by default: ${instant_forms}`, instant)
    .option('--app <app_id>', 'only this app')
    .option('--repair', 'replay what the audit store has and the tables lack')
    .addHelpText('after', help)
    .action(async ({ since, app, repair = false, json }: ReconcileOptions) => {
      const body = { since_ms: since, app_id: app }
      const first = await reconcile(body)
      const lost = first.differences.filter(({ store }) => repairable.has(store))
      const { hours, differences } = repair && lost.length > 0 ? await repaired(lost, body) : first
      const left = new Set(differences.map(nameOf))
      const gone = first.differences.filter((one) => !left.has(nameOf(one))).length
      print({ json }, { hours, differences, repaired: gone }, describe(hours, differences, gone))
      if (differences.length > 0) process.exitCode = 1
    })
}

/** Stores whose lack a replay fills. */
const repairable = new Set(['events.accepted.v1', 'clicks_raw_v1', 'postbacks_raw_v1'])

const nameOf = ({ app_id, hour, store }: Difference): string => `${app_id}/${hour}/${store}`

type Asked = { since_ms: number | undefined; app_id: string | undefined }

/** Replays the apps that lack something, each from its first such hour on, and compares again. */
async function repaired(lost: readonly Difference[], asked: Asked): Promise<ReconcileProgress> {
  const sinceOf = (some: readonly Difference[]) => Math.min(...some.map(({ hour }) => Date.parse(hour)))
  // Postbacks name no app: they come back with the events of all.
  if (lost.some(({ app_id }) => app_id === '')) await replayAudit({ since_ms: sinceOf(lost) })
  else
    for (const [app_id, some] of Map.groupBy(lost, (one) => one.app_id))
      await replayAudit({ since_ms: sinceOf(some), app_id })
  return reconcile(asked)
}

const brokeOff = (code: string) => new CliError(code, 'It broke off. Run it again.')

async function reconcile(body: Asked): Promise<ReconcileProgress> {
  const response = await openAdmin(reconcileRoutes.reconcile, { body })
  let latest: ReconcileProgress | null = null
  try {
    for await (const line of linesOf(response)) latest = ReconcileProgress.parse(JSON.parse(line))
  } catch {
    throw brokeOff('unavailable')
  }
  if (latest?.state !== 'done') throw brokeOff(latest?.error ?? 'unavailable')
  return latest
}

function describe(hours: number, differences: readonly Difference[], gone: number): string {
  const compared = `${hours} hours of apps compared`
  const fixed = gone === 0 ? [] : [`${gone} differences repaired`]
  if (differences.length === 0) return [compared, ...fixed, 'no difference'].join(', ')
  const head = ['app', 'hour', 'store', 'expected', 'found']
  const rows = differences.map((one) => [one.app_id, one.hour, one.store, one.expected, one.found])
  const examples = differences.flatMap(({ store, examples }) => examples.map((example) => `  ${store}: ${example}`))
  return [[compared, ...fixed].join(', '), list(head, rows), ...examples].join('\n')
}
