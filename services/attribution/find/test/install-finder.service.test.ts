import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import { type EmbeddedBroker, openEmbeddedBroker } from '@tributary/broker/embedded'
import { appPartition } from '@tributary/broker/partition'
import { type Fact, Found } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { CodedError } from '@tributary/contracts/errors'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { signClickId } from '@tributary/domain/attribute/click-token'
import { publishMarks } from '@tributary/service-kit/consumer/hand-over'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { SecretUnreadableError } from '@tributary/tenancy/secrets/master-keys'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { type MemoryTombstones, memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { installFinder } from '../src/install-finder.ts'
import { eventOf, forms, received_at_ms, recordOf, topic } from './accepted-records.ts'

const partitions = 2
const app_id = 'app_1'
const soon = { timeout: 180_000, interval: 2 }

let dir: string
let broker: EmbeddedBroker
let apps: ReturnType<typeof memoryAttributionApps>
let registry: Registry
let erased: MemoryTombstones
const closes: (() => Promise<void>)[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tributary-finder-'))
  broker = await openEmbeddedBroker({ dir, now: Date.now, partitions })
  const made = [topic, topics.installsFound]
  await broker.applyTopics([...made, ...made.map(deadLetterTopic)])
  apps = memoryAttributionApps([{ app_id }])
  registry = new Registry()
  erased = memoryTombstones()
})
afterEach(async () => {
  for (const close of closes.splice(0).toReversed()) await close()
  await broker.close()
  await rm(dir, { recursive: true })
})

async function startFinder(log: Broker = broker) {
  const running = await runConsumer({
    ...{
      broker: log,
      consumer: installFinder({ broker: log, apps, erased }),
      logger: pino({ level: 'silent' }),
      registry,
    },
    ...{ now: Date.now, fetch: { bytes_min: 1, wait_ms_max: 1 }, pauses: { first_ms: 1, most_ms: 2 } },
  })
  closes.push(() => running.close())
}

/** Waits until the finder is at the end of the log. */
const untilFound = () =>
  vi.waitFor(async () => {
    const offsets = await broker.groupOffsets(consumers.installFinder.name, topic.name)
    for (const { committed, end } of offsets) expect(committed ?? 0).toBe(end)
  }, soon)

/** Everything on a topic, by partition and offset. */
async function read(name: string) {
  const offsets = await broker.groupOffsets('reader', name)
  const total = offsets.reduce((sum, { end }) => sum + end, 0)
  const found: { partition: number; key: string | null; fact: Fact }[] = []
  if (total === 0) return found
  const reading = await broker.consume({
    ...{ group: 'reader', topic: name, bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 1 },
    onChunk: async ({ partition, records }) => {
      for (const { key, value } of records)
        found.push({ partition, key, fact: Found.parse(JSON.parse(`${value}`)) as Fact })
    },
  })
  await vi.waitFor(() => expect(found).toHaveLength(total), soon)
  await reading.close()
  return found
}
const facts = async () => (await read(topics.installsFound.name)).map(({ fact }) => fact)
const publish = (...records: OutgoingRecord[]) => broker.publish(records)
const record = (events: Parameters<typeof recordOf>[1], form: Parameters<typeof recordOf>[2] = 'events') =>
  recordOf(app_id, events, form, partitions)

async function dropped(): Promise<Record<string, number>> {
  const values = (await registry.getSingleMetric('tributary_consumer_dropped_total')?.get())?.values ?? []
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
}
const deadLetters = async () =>
  (await broker.groupOffsets('reader', deadLetterTopic(topic).name)).reduce((sum, { end }) => sum + end, 0)

test.each(forms)('an install and an alias become facts of their app, at the place of their event: %s', async (form) => {
  const secrets = (await apps.find(app_id))!
  const click_id = '0198c2f0-1c00-7abc-8abc-0123456789ab'
  const props = { click_id: signClickId(click_id, secrets.link_secret) }
  const own = record(
    [
      ...[eventOf('level_up', 'i-1'), eventOf('app_install', 'i-1', { user_id: 'u', props, device: { gaid: 'x' } })],
      ...[eventOf('level_up', 'i-1'), eventOf('_user_alias', 'i-1', { user_id: 'v' })],
    ],
    form,
  )
  await publish(record([eventOf('level_up', 'i-1')]), own)
  await startFinder()
  await untilFound()
  const found = await read(topics.installsFound.name)
  expect(found.map(({ key, partition }) => ({ key, partition }))).toEqual([
    { key: app_id, partition: appPartition(app_id, partitions) },
    { key: app_id, partition: appPartition(app_id, partitions) },
  ])
  const place = { topic: expect.stringMatching(/^events\.accepted\.v1@.+/), partition: own.partition, offset: 1 }
  expect(found.map(({ fact }) => fact)).toMatchObject([
    {
      ...{ kind: 'install', event_name: 'app_install', user_id: 'u', place: { ...place, index: 1 } },
      ...{ named_click: { click_id, signature: 'valid' }, device_hashes: [expect.any(String)] },
    },
    { kind: 'alias', user_id: 'v', place: { ...place, index: 3 } },
  ])
})

test('a record whose header says that it holds no fact is not opened, whatever stands in it', async () => {
  const hidden = record([eventOf('app_install', 'i-1')])
  await publish({ ...hidden, headers: { facts: '0' } }, { ...hidden, value: Buffer.from('{'), headers: { facts: '0' } })
  await publish(record([eventOf('app_first_open', 'i-2')]))
  await startFinder()
  await untilFound()
  expect(await facts()).toMatchObject([{ install_uuid: 'i-2' }])
  expect(await dropped()).toEqual({})
})

test('an install that a migration fired again, and an alias of nobody, are no facts', async () => {
  await publish(
    record([eventOf('app_install', 'i-1', { props: { identity_migration: true } }), eventOf('_user_alias', 'i-1')]),
  )
  await startFinder()
  await untilFound()
  expect(await facts()).toEqual([])
  expect(await dropped()).toEqual({ no_fact: 2 })
})

test('an event that was erased shows nothing, and the new life of its install does', async () => {
  erased.erase(app_id, 'gone', received_at_ms)
  erased.erase(app_id, 'back', received_at_ms - 500)
  await publish(
    // Received up to the mark.
    record([eventOf('app_install', 'gone', { event_ts_ms: received_at_ms + 1000 })]),
    // Received after the mark, and dated before it.
    record([eventOf('app_install', 'back')]),
    record([eventOf('app_install', 'back', { event_ts_ms: received_at_ms })]),
    record([eventOf('app_install', 'stays')]),
  )
  await startFinder()
  await untilFound()
  expect((await facts()).map((fact) => [fact.install_uuid, fact.kind === 'install' && fact.installed_at_ms])).toEqual(
    expect.arrayContaining([
      ['back', received_at_ms],
      ['stays', received_at_ms - 1000],
    ]),
  )
  expect(await dropped()).toEqual({ erased: 2 })
})

test('an app that is gone loses its facts, and no other app does', async () => {
  await publish(
    recordOf('app_gone', [eventOf('app_install', 'i-1'), eventOf('level_up', 'i-1')], 'events', partitions),
    record([eventOf('app_install', 'i-2')]),
  )
  await startFinder()
  await untilFound()
  expect(await facts()).toMatchObject([{ app_id, install_uuid: 'i-2' }])
  expect(await dropped()).toEqual({ unknown_app: 1 })
})

test('a record that nobody can read is counted, and left to the dead letters of event-writer', async () => {
  const good = record([eventOf('app_install', 'i-1')])
  await publish(
    { ...good, value: Buffer.from('{"v":9}') },
    { ...good, value: Buffer.from('no JSON'), headers: {} },
    good,
  )
  await startFinder()
  await untilFound()
  expect(await facts()).toMatchObject([{ install_uuid: 'i-1' }])
  expect(await dropped()).toEqual({ undecodable: 2 })
  expect(await deadLetters()).toBe(0)
})

test('the marks of a hand-over are nothing', async () => {
  await publishMarks(broker, topic.name, topics.installsFound.name)
  await publish(record([eventOf('app_install', 'i-1')]))
  await startFinder()
  await untilFound()
  expect(await facts()).toMatchObject([{ install_uuid: 'i-1' }])
  expect(await dropped()).toEqual({})
  expect(await deadLetters()).toBe(0)
})

test('while the apps cannot be looked up, the batch waits and nothing is lost', async () => {
  apps.fault = new Error('PostgreSQL is away')
  await publish(record([eventOf('app_install', 'i-1')]))
  await startFinder()
  await vi.waitFor(async () => {
    const failures = await registry.getSingleMetric('tributary_consumer_failures_total')?.get()
    expect(failures?.values[0]?.value).toBeGreaterThan(2)
  }, soon)
  expect(await facts()).toEqual([])
  apps.fault = null
  await untilFound()
  expect(await facts()).toMatchObject([{ install_uuid: 'i-1' }])
})

test('an app whose secrets no master key decrypts holds up no other: its installs wait as dead letters', async () => {
  const find = apps.find.bind(apps)
  let lost = true
  apps.find = async (id) => {
    if (lost && id === 'app_lost')
      throw new CodedError('unavailable', { cause: new SecretUnreadableError('needs another master key') })
    return find(id)
  }
  apps.add({ app_id: 'app_lost' })
  await publish(
    recordOf('app_lost', [eventOf('level_up', 'i-1'), eventOf('app_install', 'i-1')], 'events', partitions),
    recordOf('app_lost', [eventOf('level_up', 'i-1')], 'events', partitions),
    record([eventOf('app_install', 'i-2')]),
  )
  await startFinder()
  await untilFound()
  expect(await facts()).toMatchObject([{ app_id, install_uuid: 'i-2' }])
  expect(await registry.getSingleMetricAsString('tributary_consumer_dead_total')).toContain(
    'reason="secrets_unreadable"} 1',
  )
  expect(await deadLetters()).toBe(1)
  lost = false
  await publish(recordOf('app_lost', [eventOf('app_install', 'i-1')], 'events', partitions))
  await untilFound()
  expect(await deadLetters()).toBe(1)
})

test('while facts cannot be published, nothing is committed', async () => {
  let failures = 3
  const log: Broker = {
    ...broker,
    async publish(records) {
      if (failures-- > 0) throw new Error('the log is away')
      await broker.publish(records)
    },
  }
  await publish(record([eventOf('app_install', 'i-1')]), record([eventOf('_user_alias', 'i-1', { user_id: 'u' })]))
  await startFinder(log)
  await untilFound()
  expect(await facts()).toHaveLength(2)
})

test('a batch of nothing but installs is found whole, in the order of the log', async () => {
  const installs = Array.from({ length: 5000 }, (_, n) => `i-${n}`)
  for (let n = 0; n < installs.length; n += 500)
    await publish(...installs.slice(n, n + 500).map((install_uuid) => record([eventOf('app_install', install_uuid)])))
  const many = Array.from({ length: 500 }, (_, n) => eventOf('_user_alias', 'i-0', { user_id: `u-${n}` }))
  await publish(record(many, 'gzip'))
  await startFinder()
  await untilFound()
  const found = await facts()
  expect(new Set(found.map(({ install_uuid }) => install_uuid))).toEqual(new Set(installs))
  const aliases = found.flatMap((fact) => (fact.kind === 'alias' ? [fact] : []))
  expect(aliases.map(({ user_id, place }) => [user_id, place.index])).toEqual(many.map((_, n) => [`u-${n}`, n]))
  for (let partition = 0; partition < partitions; partition += 1) {
    const offsets = found.filter(({ place }) => place.partition === partition).map(({ place }) => place.offset)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  }
})
