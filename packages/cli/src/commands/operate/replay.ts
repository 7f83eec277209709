import { ReplayProgress, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { instant, instant_forms } from '../../arguments.ts'
import { CliError, usageError } from '../../errors.ts'
import { print } from '../../output.ts'
import { linesOf } from '../../response-lines.ts'

interface ReplayOptions {
  fromLog?: boolean
  fromAudit?: boolean
  since?: number
  app?: string
  dryRun?: boolean
  json?: boolean
}

const help = `
Reads accepted events again and adds those that the tables lack, exactly once. Existing rows stay unchanged. The command
may be stopped (Ctrl-C), repeated, and run during live traffic. The log holds 7 days, the audit store all requests; see
"Replay" in docs/operations.md for the choice between them.
--json: {replayed, filled, unknown}: events read, events added, and events that the source does not hold completely.
unknown_reasons counts the unknown events by reason; it is absent without any. clicks_filled counts clicks on tracking links
that were added from their archives, postbacks_filled postbacks of Apple that were added; both are absent without any.`

/** Adds `replay --from-log|--from-audit`. */
export function replayCommand(program: Command): void {
  program
    .command('replay')
    .description('add accepted events that the tables lack')
    .option('--from-log', 'read the event log')
    .option('--from-audit', 'read the audit store')
    .option('--since <time>', `only events received since then: ${instant_forms}`, instant)
    .option('--app <app_id>', 'only this app')
    .option('--dry-run', 'only count the missing events')
    .addHelpText('after', help)
    .action(async (options: ReplayOptions) => {
      const { fromLog = false, fromAudit = false, since, app, dryRun = false } = options
      if (fromLog === fromAudit) throw usageError('Give one of --from-log and --from-audit.')
      const source = fromLog ? 'log' : 'audit'
      const body = { source, since_ms: since, app_id: app, dry_run: dryRun } as const
      const response = await openAdmin(storedDataRoutes.startReplay, { body })
      const end = await follow(response, options.json !== true)
      const { state, replayed, filled, clicks_filled, postbacks_filled, unknown, unknown_reasons } = end
      if (state !== 'done') throw brokeOff(end.error ?? 'unavailable')
      const clicks = clicks_filled !== undefined && { clicks_filled }
      const postbacks = postbacks_filled !== undefined && { postbacks_filled }
      const totals = { replayed, filled, unknown, ...clicks, ...postbacks, ...(unknown > 0 && { unknown_reasons }) }
      print(options, totals, describe(end, dryRun))
    })
}

/** Replays from the audit store, for a command that needs no more of it than that it is done. */
export async function replayAudit(chosen: { since_ms: number; app_id?: string }): Promise<void> {
  const body = { source: 'audit', dry_run: false, ...chosen } as const
  const { state, error = 'unavailable' } = await follow(await openAdmin(storedDataRoutes.startReplay, { body }), false)
  if (state !== 'done') throw brokeOff(error)
}

const brokeOff = (code: string) =>
  new CliError(code, 'The replay broke off. Run it again: it adds only events that are still missing.')

/** Shows the progress on a terminal and returns the last line of the answer. */
async function follow(response: Response, shown: boolean): Promise<ReplayProgress> {
  const format =
    ' {bar} {percentage}% | {at} | {seconds} s | {replayed} events, {filled} missing, {unknown} unknown | {state}'
  const bar = shown && process.stderr.isTTY ? new SingleBar({ format, stream: process.stderr, hideCursor: true }) : null
  let latest: ReplayProgress | null = null
  bar?.start(100, 0, { state: 'starting', replayed: 0, filled: 0, unknown: 0, at: '', seconds: 0 })
  try {
    for await (const line of linesOf(response)) {
      latest = ReplayProgress.parse(JSON.parse(line))
      bar?.update(latest.percent, latest)
    }
  } catch {
    throw brokeOff('unavailable')
  } finally {
    bar?.stop()
  }
  if (latest === null) throw brokeOff('unavailable')
  return latest
}

function describe(end: ReplayProgress, dryRun: boolean): string {
  const { replayed, filled, clicks_filled, postbacks_filled, unknown, unknown_reasons } = end
  const others = [
    ['archived clicks', clicks_filled],
    ['postbacks', postbacks_filled],
  ] as const
  const more = others.flatMap(([what, count]) =>
    count === undefined ? [] : [`${count} ${what} ${dryRun ? 'would be filled' : 'filled'}`],
  )
  const reasons = Object.entries(unknown_reasons).map(([reason, count]) => `  ${reason}  ${count}`)
  const fills = dryRun ? `${filled} would be filled` : `${filled} filled`
  return [`${replayed} events read, ${fills}, ${unknown} unknown`, ...more, ...reasons].join('\n')
}
