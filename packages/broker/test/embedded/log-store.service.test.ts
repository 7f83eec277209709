import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLogStore } from '../../src/embedded/log-store.ts'
import { openPartitionLog, type PartitionLog } from '../../src/embedded/partition-log.ts'

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

it('without space nothing is appended, offsets are still committed, and the log goes on where it was', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
  let has_space = true
  const store = openLogStore(
    dir,
    Date.now,
    () => {},
    () => has_space,
  )
  const log = openPartitionLog(store, 'events.accepted.v1', 0)
  const append = () =>
    store.queue.submit({
      stage: (staging) => staging.append(log, { topic: log.topic, partition: 0, key: null, value: randomBytes(10) }),
    })
  await append()
  has_space = false
  await expect(append()).rejects.toMatchObject({ code: 'unavailable' })
  const committed = { offset: 1, metadata: '' }
  const commit = () => store.offsets.put(['group', log.topic, 0], committed)
  await store.queue.submit({ stage: (staging) => staging.change(commit) })
  expect(store.offsets.get(['group', log.topic, 0])).toEqual(committed)
  has_space = true
  await append()
  expect(log.end().offset).toBe(2)
  await store.close()
  await rm(dir, { recursive: true })
})
