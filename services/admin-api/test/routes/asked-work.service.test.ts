import { afterEach, expect, test, vi } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const { ask, inject, query, auditOf } = adminApiUnderTest()
afterEach(async () => {
  vi.restoreAllMocks()
  await query('DELETE FROM jobs')
})

const asks = [
  ['replay', '/replays', { source: 'log' }],
  ['dead_retry', '/dead-letters/retry', {}],
  ['reconcile', '/reconcile', {}],
] as const

/** Writes into the row that the API asks by, as the replayer does. */
async function work(changes: string, values: readonly unknown[] = []) {
  const written = () => query(`UPDATE jobs SET ${changes} WHERE ended_at_ms IS NULL RETURNING asked`, [...values])
  const [row] = await vi.waitFor(
    async () => {
      const rows = await written()
      expect(rows).toHaveLength(1)
      return rows
    },
    { timeout: 10_000 },
  )
  return row.asked
}
const begin = (progress: object) =>
  work(`begun_at_ms = 1, held_until = now() + interval '1 minute', progress = $1`, [JSON.stringify(progress)])
const end = (outcome: object, progress: object | null = null) =>
  work('ended_at_ms = 2, outcome = $1, progress = coalesce($2, progress)', [
    JSON.stringify(outcome),
    progress && JSON.stringify(progress),
  ])

const replay = async () => (await inject('/replays', { method: 'POST', payload: '{"source":"log"}' })).body

test('whoever has events replayed gets the lines that the replayer writes, letter by letter', async () => {
  const replaying = replay()
  const counts = {
    replayed: 3,
    filled: 1,
    unknown: 0,
    unknown_reasons: {},
    at: '3 of 9 records',
    percent: 33,
    seconds: 1,
  }
  expect(await begin({ state: 'running', ...counts })).toMatchObject({ source: 'log', dry_run: false })
  const last = { state: 'done', ...counts, percent: 100, clicks_filled: 2 }
  await end({}, last)
  expect((await replaying).split('\n').slice(-2)).toEqual([JSON.stringify(last), ''])
})

test('whoever has the stores compared gets what the reconciler writes, and who asked is in the audit log', async () => {
  const comparing = inject('/reconcile', { method: 'POST', payload: '{"since_ms":7}' })
  const shown = { state: 'running', at: 'x', hours: 0, differences: [], left_out: 0 }
  expect(await begin(shown)).toMatchObject({ since_ms: 7, request_id: expect.any(String) })
  const last = { ...shown, state: 'done', hours: 2 }
  await end({}, last)
  expect((await comparing).body.trim().split('\n').at(-1)).toBe(JSON.stringify(last))
  expect((await auditOf('every app')).at(-1)).toMatchObject({ action: 'reconcile.start', detail: { since_ms: 7 } })
})

test('a replay that a crash of housekeeper broke off has failed, with what it had counted', async () => {
  const replaying = replay()
  const { source } = await begin({ state: 'running', replayed: 7 })
  await work(`held_until = now() - interval '1 second'`)
  const last = JSON.parse((await replaying).trim().split('\n').at(-1)!)
  expect([source, last]).toEqual([
    'log',
    expect.objectContaining({ state: 'failed', replayed: 7, error: 'unavailable' }),
  ])
})

test.each(asks)('%s is refused while nobody takes it, and never begins later', async (kind, path, body) => {
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort())
  const worker = kind === 'reconcile' ? 'reconciler' : 'replayer'
  const message = `The ${worker} does not answer: is housekeeper running?`
  expect(await ask('POST', path, body)).toMatchObject({ status: 503, body: { error: 'unavailable', message } })
  expect(await query('SELECT kind, begun_at_ms FROM jobs WHERE ended_at_ms IS NOT NULL')).toEqual([
    { kind, begun_at_ms: null },
  ])
})

test('whoever has dead letters retried hears the number of records, or why there is none', async () => {
  const retry = () => ask('POST', '/dead-letters/retry', {})
  const first = retry()
  await begin({})
  await end({ retried: 3, too_large: 1 })
  expect((await first).body).toEqual({ retried: 3, too_large: 1 })
  const second = retry()
  await begin({})
  await end({ error: 'The log is away.' })
  expect(await second).toMatchObject({ status: 503, body: { error: 'unavailable', message: 'The log is away.' } })
})

test.each(asks)(
  '%s that is refused since another is open leaves no entry in the audit log',
  async (_kind, path, body) => {
    const subject = path === '/replays' ? 'every app' : 'events.accepted.v1'
    const first = ask('POST', path, body).catch(() => {})
    await begin({})
    const entries = (await auditOf(subject)).length
    expect((await ask('POST', path, body)).status).toBeGreaterThan(400)
    expect(await auditOf(subject)).toHaveLength(entries)
    await end({ retried: 0 })
    await first
  },
)
