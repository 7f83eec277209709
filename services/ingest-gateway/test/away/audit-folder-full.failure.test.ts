import { statfsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { sdkEvent } from '@tributary/testing/builders'
import { hasSmallDisk, openSmallDisk, type SmallDisk } from '@tributary/testing/engines/small-disk'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { gist, openGatewayOver, patience } from '../gateway-over.ts'

const taken = { status: 200, error: undefined, again: false }
const three = <T>(one: T) => [one, one, one]

describe.skipIf(!hasSmallDisk())('with a full disk', () => {
  let disk: SmallDisk
  beforeEach(async () => {
    disk = await openSmallDisk(8 * 1024 * 1024)
  })
  afterEach(() => disk.close())

  /** Objects that a reader of the folder finds; throws on one that is not whole. */
  async function wholeObjects(dir: string): Promise<string[]> {
    const names = (await readdir(dir, { recursive: true })).filter((name) => /\.jsonl?(\.gz)?$/.test(name))
    for (const name of names) {
      const content = await readFile(join(dir, name))
      const text = name.endsWith('.gz') ? gunzipSync(content) : content
      for (const line of text.toString().trimEnd().split('\n')) JSON.parse(line)
    }
    return names
  }

  it('answers 503 and publishes nothing while the audit folder is full, leaves no half object, and goes on alone', async () => {
    const refused = { status: 503, error: 'audit_write_failed', again: true }
    const dir = join(disk.dir, 'audit')
    const audit = await openFolderAuditStore({ dir })
    const gateway = await openGatewayOver({ audit, checks: { object_storage: () => audit.checkHealth() } })
    const keys: string[] = []
    const expectTaken = async () => {
      const answers = await gateway.everyRoute()
      expect(answers.map(gist)).toEqual(three(taken))
      keys.push(...answers.map(({ body }) => body.audit_key))
    }
    await expectTaken()

    // What does not fit is broken off in the midst of its bytes; what is small still goes through.
    await disk.fill(64 * 1024)
    const large = { events: Array.from({ length: 40 }, () => sdkEvent({ props: { text: 'x'.repeat(15_000) } })) }
    expect(gist(await gateway.bulk(JSON.stringify(large)))).toEqual(refused)
    await expectTaken()

    await disk.fill()
    for (let n = 0; n < 10; n += 1) expect((await gateway.everyRoute()).map(gist)).toEqual(three(refused))
    await vi.waitFor(async () => expect(await gateway.health('object_storage')).toBe('down'), patience)
    expect(gateway.records()).toHaveLength(keys.length)
    expect(await wholeObjects(dir)).toHaveLength(keys.length)

    await disk.free()
    await expectTaken()
    await vi.waitFor(async () => expect(await gateway.health('object_storage')).toBe('ok'), patience)
    await gateway.close()
    await audit.close()

    const reopened = await openFolderAuditStore({ dir })
    const names = await wholeObjects(dir)
    expect(names).toHaveLength(keys.length)
    for (const key of keys) expect(names.filter((name) => name.endsWith(key))).toHaveLength(1)
    expect(await readdir(join(dir, '.tmp'))).toEqual([])
    await reopened.close()
  })

  it('answers 503 while the folder of the embedded log has no room left, holds all that it acknowledged, and goes on alone', async () => {
    const refused = { status: 503, error: 'unavailable', again: true }
    const topic = topics.eventsAccepted
    // As the disk watch does it: lmdb 3.5 damages the heap now and then when a write finds no space, which ends the process.
    const hasSpace = () => {
      const { bavail, bsize } = statfsSync(disk.dir)
      return bavail * bsize > 1024 * 1024
    }
    const openLog = async (): Promise<Broker> => {
      const broker = await openEmbeddedBroker({ dir: disk.dir, now: Date.now, partitions: 2, hasSpace })
      await broker.applyTopics([topic, deadLetterTopic(topic)])
      return broker
    }
    const broker = await openLog()
    const gateway = await openGatewayOver({ broker, checks: { queues: () => broker.checkHealth() } })
    const acknowledged = new Set<string>()
    /** Sends one event of the given size; true when it was acknowledged. */
    const send = async (bytes: number): Promise<boolean> => {
      const event = sdkEvent({ props: { text: 'x'.repeat(bytes) } })
      const answer = await gateway.single(event)
      if (answer.status === 200) acknowledged.add(event.event_id as string)
      else expect(gist(answer)).toEqual(refused)
      return answer.status === 200
    }
    for (let n = 0; n < 10; n += 1) expect(await send(10)).toBe(true)
    await disk.fill(2 * 1024 * 1024)
    let sent = 0
    while (await send(15_000)) sent += 1
    expect(sent).toBeLessThan(200)
    for (let n = 0; n < 10; n += 1) expect(await send(10)).toBe(false)

    await disk.free()
    await vi.waitFor(async () => expect(await send(15_000)).toBe(true), patience)
    await vi.waitFor(async () => expect(await gateway.health('queues')).toBe('ok'), patience)
    await gateway.close()
    await broker.close()

    const reopened = await openLog()
    const found = new Set<string>()
    const consumption = await reopened.consume({
      group: 'reader',
      topic: topic.name,
      bytes_min: 1,
      bytes_max: 1024 * 1024,
      wait_ms_max: 20,
      async onChunk({ records }) {
        for (const { value } of records) found.add(JSON.parse(value.toString()).events[0].event_id)
      },
    })
    await vi.waitFor(() => expect([...acknowledged].filter((id) => !found.has(id))).toEqual([]), patience)
    await consumption.close()
    await reopened.close()
  })
})
