import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { whatIfRoutes } from '@tributary/contracts/admin/rows/what-if'
import type { CodedError } from '@tributary/contracts/errors'
import { day_ms } from '@tributary/contracts/limits'
import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { addWhatIfRoute } from '../../src/people/what-if-route.ts'

const now_ms = Date.UTC(2026, 10, 28)

/** The route alone, over an engine without installs. `beforeQuery` is awaited before each of its answers. */
async function openRoute(beforeQuery: () => Promise<void> | void, openRows = () => Readable.from([])) {
  const mark = { before_ms: 0 }
  const closed = { count: 0 }
  const app = Fastify()
  onTestFinished(() => app.close())
  app.setErrorHandler((err: CodedError, _request, reply) => reply.code(err.status).send({ error: err.code }))
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.once('close', () => {
      closed.count += 1
    })
  })
  app.addHook('preHandler', async (request) => {
    request.input = { params: request.params, query: whatIfRoutes.whatIf.query.parse(request.query) }
  })
  addWhatIfRoute(app, {
    pool: { query: async () => ({ rows: [mark] }) } as never,
    clickhouse: {
      async query() {
        await beforeQuery()
        return []
      },
      stream: async () => openRows(),
    },
    getReader: async () => ({ app_id: 'app_1', company_id: 'co_1', key_id: 'per_1' }),
    now: () => now_ms,
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const since_ms = now_ms - 3 * day_ms
  const ask = (signal?: AbortSignal) =>
    fetch(`${url}/admin/api/v1/apps/app_1/what-if?since_ms=${since_ms}`, { ...(signal && { signal }) })
  return { ask, mark, closed, since_ms }
}

test('who leaves gives the place back when the statement that runs for it has ended, not before', async () => {
  const engine = Promise.withResolvers<void>()
  let asked = 0
  const { ask, closed } = await openRoute(() => {
    asked += 1
    return asked === 1 ? engine.promise : undefined
  })
  const leaving = new AbortController()
  const left = ask(leaving.signal).catch(() => 'left')
  await vi.waitFor(() => expect(asked).toBe(1))
  leaving.abort()
  expect(await left).toBe('left')
  await vi.waitFor(() => expect(closed.count).toBe(1))
  expect(await ask()).toMatchObject({ status: 429 })
  expect(asked).toBe(1)
  engine.resolve()
  await vi.waitFor(async () => {
    const answer = await ask()
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"kind":"what_if"')])
  })
})

test('an answer during which retention deletes clicks of its window is broken off', async () => {
  const { ask, mark, since_ms } = await openRoute(() => {
    mark.before_ms = since_ms
  })
  await expect(ask().then((answer) => answer.text())).rejects.toThrow()
  const after = await ask()
  expect([after.status, await after.json()]).toEqual([400, { error: 'clicks_expired' }])
})

test('the rows of who leaves are closed, and their file with them', async () => {
  const rows = Readable.from(endlessRows())
  const { ask } = await openRoute(
    () => {},
    () => rows,
  )
  const leaving = new AbortController()
  const answer = await ask(leaving.signal)
  expect(answer.status).toBe(200)
  leaving.abort()
  await vi.waitFor(() => expect(rows.destroyed).toBe(true))
})

/** Decisions on one organic install after the other. */
async function* endlessRows() {
  const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }
  for (let n = 0; ; n += 1) {
    await nextTurn()
    const decision = { install_uuid: `i${n}`, windows, verdict: null, candidates: [] }
    yield `${JSON.stringify({ decision: JSON.stringify(decision) })}\n`
  }
}
