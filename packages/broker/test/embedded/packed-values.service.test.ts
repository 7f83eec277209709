import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { LogRecord } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { expect, it, onTestFinished } from 'vitest'

const topic = 'events.accepted.v1'

/** What a new group reads of records with these packed values, each between < and >. */
async function readBack(...packed: Buffer[]): Promise<readonly LogRecord[]> {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
  const broker = await openEmbeddedBroker({ dir, now: () => 1, partitions: 1 })
  onTestFinished(async () => {
    await broker.close()
    await rm(dir, { recursive: true, force: true })
  })
  await broker.applyTopics([{ name: topic, partitions: 12, retention_ms: 1000 }])
  const around = { head: Buffer.from('<'), tail: Buffer.from('>'), inflated_bytes: 5 }
  await broker.publish(packed.map((gzip) => ({ topic, partition: 0, key: null, value: { ...around, gzip } })))
  const { promise, resolve } = Promise.withResolvers<readonly LogRecord[]>()
  await broker.consume({
    ...{ group: 'reader', topic, bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 20 },
    onChunk: async ({ records }) => resolve(records),
  })
  return promise
}

it('gives a packed value each time that it is taken', async () => {
  const [record] = await readBack(gzipSync('whole'))
  expect([record!.value, record!.value].map(String)).toEqual(['<whole>', '<whole>'])
})

it('gives a broken value as it is stored, and the others whole: its consumer makes a dead letter of it', async () => {
  const records = await readBack(gzipSync('first'), Buffer.from('no gzip'), gzipSync('third'))
  expect(records.map(({ value }) => String(value))).toEqual(['<first>', '<no gzip>', '<third>'])
})
