import { setTimeout as sleep } from 'node:timers/promises'
import { type SystemStatus, systemRoutes } from '@tributary/contracts/admin/system'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { seconds } from '../../arguments.ts'
import { CliError } from '../../errors.ts'
import { lines, print, table } from '../../output.ts'

const poll_ms = 250

interface StatusOptions {
  wait?: boolean
  timeout: number
  json?: boolean
}

/** Adds `status [--wait]`. */
export function statusCommand(program: Command): void {
  program
    .command('status')
    .description('show the lag of each consumer, and whether the engines of the service answer')
    .option(
      '--wait',
      'return when every lag is 0: all accepted events, their verdicts and all postbacks are in the reports',
    )
    .option('--timeout <seconds>', 'longest time to wait; then exit 1', seconds, 60)
    .action(async ({ wait, timeout, json }: StatusOptions) => {
      const status = wait ? await waitForNoLag(timeout) : await admin(systemRoutes.getStatus)
      print({ json }, status, describe(status))
    })
}

/** Polls until every lag is 0. Waits for an unreachable service too, which may be restarting. */
async function waitForNoLag(timeout_s: number): Promise<SystemStatus> {
  const deadline = performance.now() + timeout_s * 1000
  for (;;) {
    const found = await admin(systemRoutes.getStatus).catch((error: unknown) => {
      if (error instanceof CliError && error.code === 'unavailable') return error
      throw error
    })
    const written = !(found instanceof CliError) && found.consumers.every(({ lag }) => lag === 0)
    if (written) return found
    if (performance.now() + poll_ms > deadline) throw found instanceof CliError ? found : timeoutError(found, timeout_s)
    await sleep(poll_ms)
  }
}

function timeoutError({ consumers }: SystemStatus, timeout_s: number): CliError {
  const behind = consumers.filter(({ lag }) => lag > 0).map(({ name, lag }) => `${name} has ${lag} records to write`)
  return new CliError('timeout', `After ${timeout_s} seconds ${behind.join(', ')}.`)
}

function describe({ ready, consumers, bindings }: SystemStatus): string {
  const rows = consumers.map(({ name, topic, lag, oldest_unwritten_ms }) => [name, topic, lag, oldest_unwritten_ms])
  const answers = Object.entries(bindings).map(([name, { status, latency_ms }]) => [
    name,
    `${status} (${latency_ms} ms)`,
  ])
  return [
    lines({ ready: ready ? 'yes' : 'no', ...Object.fromEntries(answers) }),
    table(['consumer', 'topic', 'lag', 'oldest_unwritten_ms'], rows),
  ].join('\n')
}
