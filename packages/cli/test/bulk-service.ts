import { readFile } from 'node:fs/promises'
import { expect, onTestFinished } from 'vitest'
import { EventShelf, type Received, type Reply, startService } from './fake-service.ts'

/** A service for one test. `before` may answer instead of the shelf. */
export async function bulkService(
  before: (request: Received, shelf: EventShelf) => Reply | null | Promise<Reply | null> = () => null,
) {
  const shelf = new EventShelf()
  const service = await startService(async (request) => {
    return (await before(request, shelf)) ?? shelf.take(eventsOf(request))
  })
  onTestFinished(() => service.close())
  return { shelf, env: { TRIBUTARY_URL: service.url } }
}

/** The events of a bulk request. */
export const eventsOf = ({ body }: Received) => JSON.parse(body.toString()).events as Record<string, unknown>[]

/** A server key of the right form. */
export const key = `srv_${'ab'.repeat(24)}`

/** An event that the service takes; `more` adds or replaces fields. */
export const event = (n: number, more: object = {}) => ({
  event_id: `e${n}`,
  event_name: 'level_up',
  event_ts_ms: 1_357_000_000_000 + n,
  install_uuid: `i${n % 7}`,
  ...more,
})
export const many = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => event(n, more))
export const jsonl = (events: readonly object[]) => events.map((one) => `${JSON.stringify(one)}\n`).join('')

/** The rejected lines that a backfill wrote beside its file. */
export async function rejectedBeside(path: string) {
  const text = await readFile(`${path}.rejected.jsonl`, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** The `--json` answer of a run, and its expected form. */
export const answerOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout)
export const totals = (accepted: number, rejected: number, duplicates_possible = 0) => ({
  accepted,
  rejected,
  duplicates_possible,
  seconds: expect.any(Number),
})
