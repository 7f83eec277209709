import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { consumers } from '@tributary/contracts/consumers'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { isExact, type SentEvents, verifyEvents } from '@tributary/testing/verify-events'
import kafkajs, { type Admin } from 'kafkajs'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }
const { name: groupId, topic } = consumers.eventWriter
const run = promisify(execFile)

await describeWithFleet({}, (fleet) => {
  let admin: Admin
  beforeAll(async () => {
    admin = new kafkajs.Kafka({ brokers: [fleet.engine('kafka').url], logLevel: kafkajs.logLevel.NOTHING }).admin()
    await admin.connect()
  })
  afterAll(() => admin.disconnect())
  const acknowledged: SentEvents[] = []
  const tributary = (...args: string[]) =>
    run(process.execPath, ['packages/cli/src/main.ts', ...args], {
      cwd: new URL('../../..', import.meta.url).pathname,
      env: {
        PATH: process.env.PATH,
        TRIBUTARY_KAFKA_BROKERS: fleet.engine('kafka').url,
        TRIBUTARY_KAFKA_REPLICATION_FACTOR: '1',
        TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: '1',
        TRIBUTARY_CLICKHOUSE_URL: fleet.engine('clickhouse').url,
      },
    })

  const flowFor = async (ms: number) => {
    const flow = startFlow(fleet.broker)
    await vi.waitFor(() => expect(flow.acknowledged.length).toBeGreaterThan(ms), patience)
    await flow.stop()
    acknowledged.push(...flow.acknowledged)
  }
  const stopWriters = async () => {
    for (const writer of fleet.writers.splice(0)) await writer.stop()
    await vi.waitFor(async () => {
      const { groups } = await admin.describeGroups([groupId])
      expect(groups[0]?.state).toBe('Empty')
    }, patience)
  }
  const expectExact = async () => {
    const verdict = await verifyEvents(fleet.clickhouse, acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
  }

  it('counts nothing again when the offsets are moved back, and says so', async () => {
    await fleet.startWriter()
    await flowFor(40)
    await fleet.untilWritten()
    await stopWriters()
    await admin.setOffsets({
      groupId,
      topic: topic.name,
      partitions: Array.from({ length: topic.partitions }, (_, partition) => ({ partition, offset: '0' })),
    })
    const writer = await fleet.startWriter()
    await flowFor(40)
    await fleet.untilWritten()
    await expectExact()
    const metrics = await (await fetch(`${writer.url}/metrics`)).text()
    expect(metrics).toMatch(/tributary_consumer_misfits_total\{[^}]*reason="offset_moved"[^}]*\} [1-9]/)
  })

  it('writes what comes to a topic that was made anew, at the positions of before', async () => {
    await stopWriters()
    await admin.deleteTopics({ topics: [topic.name] })
    await vi.waitFor(async () => expect(await admin.listTopics()).not.toContain(topic.name), patience)
    // A client that knew the topic can't make it again.
    await tributary('topics', 'apply')
    await flowFor(40)
    await fleet.startWriter()
    await fleet.untilWritten()
    await expectExact()
  })

  it('goes on after `tributary rebuild` where tables had lost rows, which refuses while writers run', async () => {
    const rebuild = (...args: string[]) => tributary('rebuild', '--json', ...args)
    await fleet.clickhouse.command('TRUNCATE TABLE events_per_day_v1')
    await fleet.clickhouse.command('TRUNCATE TABLE event_keys_v1')
    const { differing } = JSON.parse((await rebuild('--dry-run')).stdout)
    expect(differing.map(({ table }: { table: string }) => table).toSorted()).toEqual([
      'event_keys_v1',
      'events_per_day_v1',
    ])
    await expect(rebuild()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('writers_running') })
    await stopWriters()
    expect(JSON.parse((await rebuild()).stdout).filled.toSorted()).toEqual(['event_keys_v1', 'events_per_day_v1'])
    await fleet.startWriter()
    await flowFor(40)
    await fleet.untilWritten()
    await expectExact()
  })
})
