import { createHmac } from 'node:crypto'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createSdkClient } from '../src/sdk-client.ts'
import { memoryStorage } from '../src/storage.ts'
import { startGateway } from './gateway.ts'

const day_ms = 24 * 3600 * 1000
const first_ms = Date.UTC(2026, 0, 1, 12)
let now_ms: number
const now = () => now_ms
beforeEach(() => {
  now_ms = first_ms
})

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

type Gateway = Awaited<ReturnType<typeof startGateway>>

/** Writes all accepted events, and gives the days on which the app's events count. */
async function countedDays({ broker, tenant, envelopes }: Gateway): Promise<string[]> {
  const { app_id } = tenant.app
  const consumer = eventWriter({ clickhouse })
  const logger = pino({ level: 'silent' })
  const writer = await runConsumer({ broker, consumer, logger, registry: new Registry(), now })
  const taken = envelopes().length
  const done = () => {
    const committed = [0, 1].map((n) => broker.committed(consumer.name, topics.eventsAccepted.name, n)?.offset ?? 0)
    expect(committed.reduce((sum, offset) => sum + offset, 0)).toBe(taken)
  }
  await vi.waitFor(done, { timeout: 180_000 })
  await writer.close()
  const rows = await clickhouse.query<{ day: string }>(
    'SELECT toString(day) AS day FROM events_raw_v1 WHERE app_id = {app_id:String} ORDER BY day',
    { app_id },
  )
  return rows.map(({ day }) => day)
}

test('an event that waited in storage for three days and was sent twice, two days apart, counts once, on its own day', async () => {
  const gateway = await startGateway([], now)
  const storage = memoryStorage()
  const life = (fetch: typeof globalThis.fetch) => createSdkClient({ ...gateway.sdk, storage, now, fetch })
  const offline = life(() => Promise.reject(new TypeError('no network')))
  await offline.track({ event_name: 'level_up', event_ts_ms: Number.NaN })
  await offline.track({ event_name: 'level_down' })
  await offline.close()

  now_ms += 3 * day_ms
  const unheard = life(async (...args) => {
    await fetch(...args)
    throw new TypeError('the answer was lost')
  })
  expect(await unheard.flush()).toEqual({ pending: 2 })
  await unheard.close()

  now_ms += 2 * day_ms
  const last = life(fetch)
  expect(await last.flush()).toEqual({ pending: 0 })
  await last.close()
  expect(gateway.events().length).toBeGreaterThanOrEqual(4)
  expect(await countedDays(gateway)).toEqual(['2026-01-01', '2026-01-01'])
})

/** An SDK of somebody else. */
async function send({ sdk }: Gateway, event: object): Promise<void> {
  const body = JSON.stringify({ events: [event], sent_at_ms: now_ms })
  const answer = await fetch(`${sdk.url}/event`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-service-company-key': sdk.company_key,
      'x-service-app-key': sdk.app_key,
      'x-service-signature': createHmac('sha256', sdk.signing_secret).update(body).digest('hex'),
    },
  })
  expect(await answer.json()).toMatchObject({ accepted: 1 })
}

test.each([
  [1, ['2026-01-01']],
  [2, ['2026-01-01', '2026-01-03']],
])('an event without event_ts_ms that is sent again %i days later counts on %j', async (days, counted) => {
  const gateway = await startGateway([], now)
  const event = { event_id: 'e-1', event_name: 'level_up', install_uuid: 'install-1' }
  await send(gateway, event)
  now_ms += days * day_ms
  await send(gateway, event)
  expect(await countedDays(gateway)).toEqual(counted)
})
