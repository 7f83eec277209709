import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { derivedNames, derivedOf } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import type { TombstoneStore } from '@tributary/domain/erasure/tombstones'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import type { MemoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { installWriter } from '../src/install-writer.ts'
import { day } from './decisions.ts'

export const topic = topics.installsAttributed
export const group = 'install-writer'
export const partitions = 2

export const newAppId = () => `app_${randomBytes(10).toString('hex')}`

export const recordOf = (decision: Decision | object, partition: number) => ({
  topic: topic.name,
  partition,
  key: null,
  value: Buffer.from(JSON.stringify(decision)),
})

/** A life of the install-writer. */
export async function start(
  broker: MemoryBroker,
  clickhouse: Clickhouse,
  crash: () => void | Promise<void> = () => {},
  erased?: TombstoneStore,
) {
  const registry = new Registry()
  const running = await runConsumer({
    broker,
    consumer: installWriter({ clickhouse, erased, registry, now: () => day + 4000 }),
    logger: pino({ level: 'silent' }),
    registry,
    now: () => day + 4000,
    pauses: { first_ms: 1, most_ms: 2 },
    crash,
  })
  return { close: () => running.close(), registry }
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 180_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(1)
  }
}

export const allDone = (broker: MemoryBroker) => () =>
  Array.from({ length: partitions }, (_, n) => broker.isDone(group, topic.name, n)).every(Boolean)

export async function runToEnd(broker: MemoryBroker, clickhouse: Clickhouse, erased?: TombstoneStore) {
  const running = await start(broker, clickhouse, undefined, erased)
  await until(allDone(broker), 'every record written')
  await running.close()
  return running.registry
}

/** The tables that views fill from `installs_v1`. */
const filled = derivedNames.filter((name) => derivedOf(name).from === 'installs_v1')

/** Sums of signs that no reader may see: by table and install, those that are neither 0 nor 1. */
export async function wrongSums(clickhouse: Clickhouse, app_id: string) {
  const tables = { installs_v1: 'install_uuid', installs_by_day_v1: 'install_key', install_claims_v1: 'install_uuid' }
  const sums = Object.entries({ ...tables, installs_pending_v1: 'install_uuid' }).map(
    ([table, install]) =>
      `SELECT '${table}' AS table, toString(${install}) AS install, sum(sign) AS signs FROM ${table} FINAL
       WHERE app_id = '${app_id}' GROUP BY install HAVING signs NOT IN (0, 1)`,
  )
  return clickhouse.query(sums.join(' UNION ALL '))
}

/** The tables as they are and as brute force over `installs_v1` makes them. */
export async function derivedTables(clickhouse: Clickhouse, app_id: string) {
  const held: Record<string, unknown[]> = {}
  const recounted: Record<string, unknown[]> = {}
  for (const table of filled) {
    const { where = '1', groups, values = {} } = derivedOf(table)
    const of = `WHERE app_id = '${app_id}'`
    const kept = [...Object.keys(groups), ...Object.values(values).map(([one]) => one)]
    const counted = [...Object.values(groups), ...Object.values(values).map(([, other]) => other)]
    const read = (columns: string[], from: string) =>
      clickhouse.query<{ line: string }>(
        `SELECT toString(tuple(${columns})) AS line FROM ${from} GROUP BY ${columns.slice(0, Object.keys(groups).length)} ORDER BY line`,
      )
    held[table] = await read(kept, `${table} FINAL ${of}`)
    recounted[table] = await read(counted, `installs_v1 FINAL ${of} AND ${where}`)
  }
  return { held, recounted }
}

/** What counts of each install: the rows whose signs sum up to something. */
export async function countingOf(clickhouse: Clickhouse, app_id: string) {
  return clickhouse.query<{
    install_uuid: string
    partner: string
    pending: number
    installed_at_ms: number
    signs: number
  }>(
    `SELECT install_uuid, partner, pending, installed_at_ms, sum(sign) AS signs FROM installs_v1 FINAL
     WHERE app_id = '${app_id}' GROUP BY ALL HAVING signs != 0 ORDER BY install_uuid`,
  )
}
