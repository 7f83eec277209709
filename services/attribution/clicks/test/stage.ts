import { randomBytes, randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import type { Fact, InstallFact } from '@tributary/contracts/attribution/found'
import { topics } from '@tributary/contracts/topics'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { clickRecord } from '@tributary/tables/attribution/records'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { type MemoryAuditStore, memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type MemoryRedecisions, memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import type { MemoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, vi } from 'vitest'
import { type ClickWriterDeps, clickWriter } from '../src/click-writer.ts'

export const hour = 3600_000
export const day = 24 * hour
/** Of yesterday: ClickHouse drops clicks of more than 90 days ago at once. */
export const noon = Math.floor(Date.now() / day) * day - day / 2
export const partitions = 2
export const now = () => noon
const silent = pino({ level: 'silent' })

export const newAppId = () => `app_${randomBytes(10).toString('hex')}`

/** A UUIDv7 of a time. */
export const clickIdOf = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

export function clickOf(given: Partial<Click> & { app_id: string }): Click {
  const { clicked_at_ms = noon } = given
  return {
    v: 1,
    click_id: clickIdOf(clicked_at_ms),
    company_id: 'co_1',
    link_id: 'link_1',
    partner: 'acme',
    ...{ campaign: 'summer', ad_group: null, creative: null, ext_click_id: null },
    ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, deep_link: null, lookback_hours: null },
    clicked_at_ms,
    filtered_reason: null,
    ip: '203.0.113.7',
    country: 'DE',
    user_agent: 'Mozilla/5.0',
    ...{ os: 'android', os_major: 14, model: 'Pixel 8' },
    device_hashes: [],
    ...given,
  }
}

export function installOf(given: Partial<InstallFact> & { app_id: string }): InstallFact {
  const { installed_at_ms = noon } = given
  return {
    kind: 'install',
    v: 1,
    company_id: 'co_1',
    install_uuid: randomUUID(),
    received_at_ms: installed_at_ms,
    place: { topic: 'events.accepted.v1@log', partition: 0, offset: 0, index: 0 },
    event_name: 'app_install',
    is_sdk: true,
    platform: 'android',
    installed_at_ms,
    ip: '198.51.100.1',
    ...{ os_major: 14, model: 'Pixel 8', device_hashes: [], user_id: null, referrer: null, named_click: null },
    ...{ referrer_click_server_s: null, install_begin_server_s: null },
    ...given,
  }
}

/** Stores facts as install-attributor does. */
export const storeFacts = (clickhouse: Clickhouse, facts: readonly Fact[]): Promise<void> =>
  clickhouse.insert({
    table: 'install_facts_v1',
    columns: factColumns,
    lines: facts.map(factLine).join('\n'),
    token: randomUUID(),
  })

export const publishClicks = (broker: Broker, clicks: readonly Click[]): Promise<void> =>
  broker.publish(clicks.map((click) => clickRecord(click, partitions))).then(() => {})

/** Everything around one click-writer. */
export interface Stage {
  broker: MemoryBroker
  audit: MemoryAuditStore
  redecisions: MemoryRedecisions
  attributionApps: ReturnType<typeof memoryAttributionApps>
  erased?: MemoryTombstones
  late: ClickWriterDeps['late']
}

export const makeStage = (): Stage => ({
  broker: memoryBroker(partitions, now),
  audit: memoryAuditStore(),
  redecisions: memoryRedecisions({ partitions }),
  attributionApps: memoryAttributionApps(),
  late: noLateDays,
})

/** A life of the click-writer. `crash` is that of the kit, `deps.crash` that of its own steps. */
export const startWriter = (
  deps: Omit<ClickWriterDeps, 'now'> & { broker: Broker },
  given: Pick<Partial<RunConsumerOptions<never>>, 'crash'> = {},
) =>
  runConsumer({
    broker: deps.broker,
    consumer: clickWriter({ ...deps, now, logger: silent }),
    logger: silent,
    registry: new Registry(),
    now,
    pauses: { first_ms: 1, most_ms: 2 },
    ...given,
  })

export const isDone = (broker: MemoryBroker): boolean =>
  Array.from({ length: partitions }, (_, n) => broker.isDone('click-writer', topics.clicksRecorded.name, n)).every(
    Boolean,
  )

export async function runToEnd(clickhouse: Clickhouse, stage: Stage): Promise<void> {
  const running = await startWriter({ clickhouse, ...stage })
  await vi.waitFor(() => expect(isDone(stage.broker)).toBe(true), { timeout: 180_000, interval: 1 })
  await running.close()
}
