import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLogStore } from '../src/log-store.ts'
import { openPartitionLog, type PartitionLog } from '../src/partition-log.ts'

it('a block holds no memory any more once it is durable, and is read as it was written', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
  const store = openLogStore(dir, Date.now, () => {})
  const log = openPartitionLog(store, 'events.accepted.v1', 0)
  const blocks: Buffer[] = []
  const watched: PartitionLog = {
    ...log,
    encode(records, timestamp_ms) {
      const encoded = log.encode(records, timestamp_ms)
      blocks.push(...encoded.stored.map(({ block }) => block))
      return encoded
    },
  }
  const values = Array.from({ length: 3 }, () => randomBytes(100_000))
  const records = values.map((value) => ({ topic: log.topic, partition: 0, key: null, value }))
  await store.queue.submit({
    stage: (staging) => {
      for (const record of records) staging.append(watched, record)
    },
  })
  expect(blocks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0])
  expect(log.read(0, 1_000_000).records.map(({ value }) => Buffer.from(value))).toEqual(values)
  await store.close()
  await rm(dir, { recursive: true })
})
