import { consumers } from '@tributary/contracts/consumers'
import type { Envelope } from '@tributary/contracts/envelope'
import type { StoreNotified } from '@tributary/contracts/receipt/store-notified'
import type { AppleTransaction } from '@tributary/contracts/receipt/transactions'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { createAppStores } from '@tributary/receipt-validator/app-stores'
import { lateClaimsJoiner } from '@tributary/receipt-validator/join-late-claims'
import { type JudgeDeps, judgeApp } from '@tributary/receipt-validator/judge-due'
import { notificationJoiner } from '@tributary/receipt-validator/notification-joiner'
import { receiptFinder } from '@tributary/receipt-validator/receipt-finder'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { readAppReceipt } from '@tributary/stores/app-receipt'
import type { Ask } from '@tributary/stores/ask'
import { verifyJws } from '@tributary/stores/verify-jws'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'
import { setStoreCredentials } from '@tributary/tenancy/companies/store-credentials'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import type { TestPostgres } from '@tributary/testing/engines/test-postgres'
import { createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, vi } from 'vitest'

export const authority = createAppleAuthority()
export const bundle_id = 'com.example.run'
export const t0 = Date.UTC(2026, 5, 2, 12)

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const logger = pino({ level: 'silent' })
const patient = { timeout: 180_000, interval: 2 }
/** A unit of each currency was worth one EUR since 2020; others have no rate. */
const rated: readonly string[] = ['EUR']

interface Engines {
  clickhouse: TestClickhouse
  postgres: TestPostgres
  /** The addresses of fake stores, and how they are asked; nobody is when absent. */
  ask?: Ask
  url?: string
  credentials?: Pick<Parameters<typeof setStoreCredentials>[2], 'apple' | 'google'>
  platform?: 'ios' | 'android'
}

/** An app whose events go through event-writer and receipt-validator on a log in memory and real engines. */
export async function receiptStage({ clickhouse, postgres, ...given }: Engines) {
  const { ask = async () => ({ status: 503, text: '' }), url, credentials, platform = 'ios' } = given
  let now_ms = t0
  const now = () => now_ms
  const { pool } = postgres
  const request = { actor: 'test', request_id: 'r', now_ms }
  const { company_id } = await createCompany(pool, { name: 'A', plan: 'free' }, request)
  const app = { company_id, name: 'G', platform, bundle_id }
  const { app_id } = await createApp(pool, masterKeys, app, request)
  if (credentials !== undefined) await setStoreCredentials({ pool, masterKeys }, app_id, credentials, request)
  const broker = memoryBroker(1, now)
  broker.chunk_records_max = 3
  const erased = memoryTombstones()
  const topic = consumers.eventWriter.topic.name
  const urls = { apple: url, google: url, google_token: url === undefined ? undefined : `${url}/token` }
  const roots = [authority.root.certificate]
  const [verify, readApp] = [verifyJws(roots), readAppReceipt(roots)]
  let rested_ms = 0
  const elapsed = () => rested_ms
  const newStores = () =>
    createAppStores({ postgres: pool, masterKeys, verify, readAppReceipt: readApp, ask, urls, now, elapsed })
  const fxRates: JudgeDeps['fxRates'] = {
    find: async () => (lookup) =>
      (rated.includes(lookup.currency) && lookup.day >= '2020'
        ? { currency_per_eur: '1', usd_per_eur: '1' }
        : null) as never,
  }
  const deps: JudgeDeps & { broker: typeof broker } = {
    broker,
    clickhouse,
    postgres: pool,
    stores: newStores(),
    fxRates,
    erased,
    now,
  }
  const join = lateClaimsJoiner(deps)

  /** Calls `work` until it ends, killed at these steps: another process takes over what was leased. */
  async function withKills(
    kills: number[],
    look: () => void,
    work: (crash: () => void) => Promise<void>,
  ): Promise<void> {
    let steps = 0
    const crash = () => {
      look()
      steps += 1
      if (kills.includes(steps)) throw new Error('killed')
    }
    for (;;) {
      try {
        await work(crash)
        return
      } catch (err) {
        if ((err as Error).message !== 'killed') throw err
        await pool.query('UPDATE due_receipts SET next_try_ms = 0 WHERE app_id = $1', [app_id])
      }
    }
  }

  const start = <T>(consumer: ConsumerDefinition<T>) =>
    runConsumer({
      ...{ broker, consumer, now, logger, registry: new Registry() },
      ...{ pauses: { first_ms: 1, most_ms: 2 }, fetch: { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 1 } },
    })
  const startWriter = () => start(eventWriter({ clickhouse, erased }))
  const startFinder = () => start(receiptFinder(deps))
  const startJoiner = (kills: readonly number[]) => {
    let steps = 0
    const crash = () => {
      steps += 1
      if (kills.includes(steps)) throw new Error('killed')
    }
    return start(notificationJoiner({ ...deps, crash }))
  }
  const readers = [consumers.eventWriter, consumers.receiptValidator].map(({ name }) => name)
  /** Resolves when these consumers have read all of the log. */
  const untilRead = (names: readonly string[] = readers) =>
    vi.waitFor(() => {
      for (const name of names) expect(broker.isDone(name, topic, 0)).toBe(true)
    }, patient)
  const { name: joiner, topic: notified } = consumers.notificationJoiner
  const untilJoined = () => vi.waitFor(() => expect(broker.isDone(joiner, notified.name, 0)).toBe(true), patient)

  return {
    ...{ app_id, company_id, broker, erased, deps, pool, clickhouse },
    now,
    advance(ms: number) {
      now_ms += ms
    },
    async send(
      install_uuid: string,
      source: Envelope['source'],
      events: Envelope['events'],
      received_at_ms = now_ms,
      spell = (json: string) => json,
    ) {
      const envelope: Envelope = {
        ...{ v: 1, company_id, app_id, platform, source, install_uuid, received_at_ms },
        ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events },
      }
      await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from(spell(JSON.stringify(envelope))) }])
    },
    /** A notification of Apple about a transaction, as the door puts it on the log. */
    async notify(notification_id: string, type: string, transaction: AppleTransaction) {
      const notified: StoreNotified = {
        ...{
          v: 1,
          app_id,
          company_id,
          store: 'apple',
          notification_id,
          received_at_ms: now_ms,
          audit_key: 'a',
          google: null,
        },
        apple: { type, subtype: null, environment: 'Production', signed_at_ms: now_ms, transaction },
      }
      const value = Buffer.from(JSON.stringify(notified))
      await broker.publish([{ topic: consumers.notificationJoiner.topic.name, partition: 0, key: null, value }])
    },
    masterKeys,
    envelopes: () => broker.records(topic, 0).map(({ value }) => JSON.parse(value.toString()) as Envelope),
    /** Has all that waits for a store asked again now. */
    wake: () => pool.query('UPDATE due_receipts SET next_try_ms = 0 WHERE app_id = $1', [app_id]),
    /** As a start of the service: nothing is remembered but by PostgreSQL. */
    restart() {
      deps.stores = newStores()
    },
    /** What the stores rest for is over. */
    rest(ms: number) {
      rested_ms += ms
    },
    setCredentials: (given: Parameters<typeof setStoreCredentials>[2]) =>
      setStoreCredentials({ pool, masterKeys }, app_id, given, request),
    ...{ join, startWriter, startFinder, untilRead },
    /** Judges what is due now. */
    async judge(more: Partial<JudgeDeps> = {}) {
      while ((await judgeApp({ ...deps, ...more }, app_id)) > 0);
    },
    /** Runs all until nothing is left but what a store is away for; `look` is called before each step. */
    async run(kills: number[] = [], look: () => void = () => {}) {
      const running = [await startWriter(), await startFinder(), await startJoiner(kills)]
      try {
        for (;;) {
          await untilRead()
          await untilJoined()
          const before = broker.records(topic, 0).length
          await withKills(kills, look, async (crash) => {
            while ((await judgeApp({ ...deps, crash }, app_id)) > 0);
          })
          await join()
          if (broker.records(topic, 0).length === before) break
        }
      } finally {
        for (const one of running) await one.close()
      }
    },
    /** Receipts that wait, and how many milliseconds until they are judged again. */
    async due() {
      const { rows } = await pool.query<{ wait_ms: number }>(
        `SELECT (next_try_ms - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS wait_ms FROM due_receipts WHERE app_id = $1 ORDER BY next_try_ms`,
        [app_id],
      )
      return rows.map(({ wait_ms }) => wait_ms)
    },
    /** The money that counts, event by event. */
    counted() {
      const key = 'sipHash64(t.day, topic, partition, offset, t.event_key)'
      const columns = 'install_uuid, event_name, currency, toFloat64(amount_micros) / 1e6 AS amount'
      return clickhouse.query<{ install_uuid: string; event_name: string; currency: string; amount: number }>(
        `SELECT * FROM (
           SELECT ${columns} FROM revenue_raw_v1 AS t WHERE t.app_id = {app_id:String} AND ${key} NOT IN (
             SELECT ${key} FROM revenue_cancelled_v1 AS t WHERE t.app_id = {app_id:String})
           UNION ALL SELECT ${columns} FROM revenue_chosen_v1 AS t FINAL WHERE t.app_id = {app_id:String} AND counts = 1)
         ORDER BY install_uuid, event_name, amount`,
        { app_id },
      )
    },
    /** Reads the log again from its beginning. */
    readAgain: () => broker.setCommitted(consumers.receiptValidator.name, topic, 0, null),
    cancelAll: (transaction_keys: readonly string[]) =>
      cancelBeatenClaims(
        clickhouse,
        transaction_keys.map((transaction_key) => ({ app_id, transaction_key })),
      ),
    verdicts: () =>
      clickhouse.query<Record<'event_id' | 'day' | 'install_uuid' | 'source' | 'verdict' | 'reason', string>>(
        `SELECT e.event_id AS event_id, toString(r.day) AS day, r.install_uuid AS install_uuid, r.source AS source, r.verdict AS verdict, r.reason AS reason
         FROM receipts_v1 AS r FINAL INNER JOIN events_raw_v1 AS e USING (app_id, day, install_uuid, event_key, topic, partition, offset)
         WHERE r.app_id = {app_id:String} ORDER BY event_id, day, install_uuid`,
        { app_id },
      ),
  }
}
export type ReceiptStage = Awaited<ReturnType<typeof receiptStage>>
