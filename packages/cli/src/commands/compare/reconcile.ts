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
--json: {hours, differences: [{app_id, hour, store, expected, found, examples}], left_out, repaired}. hours counts hours of apps, left_out
further differences that are not listed, repaired the differences that are gone.`

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
      const last = repair && lost.length > 0 ? await repaired(first, lost, body) : first
      const { hours, differences, left_out } = last
      const left = new Set(differences.map(nameOf))
      const gone = first.differences.filter((one) => !left.has(nameOf(one))).length
      print({ json }, { hours, differences, left_out, repaired: gone }, describe(last, gone))
      if (differences.length + left_out > 0) process.exitCode = 1
      if (!json) for (const line of whatToDo(differences, repair)) process.stderr.write(`${line}\n`)
    })
}

/** Stores whose lack a replay fills. */
const repairable = new Set(['events.accepted.v1', 'clicks_raw_v1', 'postbacks_raw_v1'])

const nameOf = ({ app_id, hour, store, expected, found }: Difference): string =>
  `${app_id}/${hour}/${store}/${found > expected}`

/** Names what ends the differences that are left. */
function whatToDo(differences: readonly Difference[], replayed: boolean): string[] {
  const isFilled = ({ store, expected, found }: Difference) => !replayed && repairable.has(store) && found < expected
  const filled = new Set(differences.filter(isFilled).map(({ store }) => store))
  return [
    ...(filled.size === 0
      ? []
      : [`Too few of ${[...filled].join(', ')}: the audit store has them, and --repair brings them back.`]),
    ...(differences.every(isFilled) ? [] : ['The rest by store: "Reconcile" in docs/operations.md.']),
  ]
}

type Asked = { since_ms: number | undefined; app_id: string | undefined }

/**
 * Replays the apps that lack something, each from its first such hour on, and compares again. Where some differences are not listed, it
 * replays all apps from the first that is: the list is by hour.
 */
async function repaired(
  { differences, left_out }: ReconcileProgress,
  lost: readonly Difference[],
  asked: Asked,
): Promise<ReconcileProgress> {
  const sinceOf = (some: readonly Difference[]) => Math.min(...some.map(({ hour }) => Date.parse(hour)))
  // Postbacks name no app: they come back with the events of all.
  if (left_out > 0) await replayAudit({ since_ms: sinceOf(differences), ...(asked.app_id && { app_id: asked.app_id }) })
  else if (lost.some(({ app_id }) => app_id === '')) await replayAudit({ since_ms: sinceOf(lost) })
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
    for await (const line of linesOf(response)) {
      latest = ReconcileProgress.parse(JSON.parse(line))
      showAt(latest.at)
    }
  } catch {
    throw brokeOff('unavailable')
  } finally {
    showAt('')
  }
  if (latest?.state !== 'done') throw brokeOff(latest?.error ?? 'unavailable')
  return latest
}

/** Shows on a terminal how far it has come, in one line. */
function showAt(at: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${at}`)
}

function describe({ hours, differences, left_out }: ReconcileProgress, gone: number): string {
  const compared = `${hours} hours of apps compared`
  const fixed = [
    ...(gone === 0 ? [] : [`${gone} differences repaired`]),
    ...(left_out === 0 ? [] : [`${left_out} further differences left out`]),
  ]
  if (differences.length === 0) return [compared, ...fixed, ...(left_out === 0 ? ['no difference'] : [])].join(', ')
  const head = ['app', 'hour', 'store', 'expected', 'found']
  const rows = differences.map((one) => [one.app_id, one.hour, one.store, one.expected, one.found])
  const examples = differences.flatMap(({ store, examples }) => examples.map((example) => `  ${store}: ${example}`))
  return [[compared, ...fixed].join(', '), list(head, rows), ...examples].join('\n')
}
