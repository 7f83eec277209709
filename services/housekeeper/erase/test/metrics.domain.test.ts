import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { StoredBatch } from '../src/batch/batch.ts'
import { eraserMetrics } from '../src/metrics.ts'

test('counts the rows of the certificates, not what was looked for', async () => {
  const registry = new Registry()
  const plan = {
    deletes: { events_raw_v1: { rows: [[1], [2]] }, revenue_cancelled_v1: { rows: [[3]] } },
    counts: { a: { events_raw_v1: 2 }, b: { events_raw_v1: 1 } },
  }
  eraserMetrics(registry).batch({ plan } as unknown as StoredBatch)
  const { values } = await registry.getSingleMetric('tributary_erasure_rows_total')!.get()
  expect(values).toEqual([{ labels: { table: 'events_raw_v1' }, value: 3 }])
})
