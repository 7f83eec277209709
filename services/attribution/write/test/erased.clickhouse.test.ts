import type { Decision } from '@tributary/contracts/attribution/decision'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type MemoryTombstones, memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, decisionOf, verdictOf } from './decisions.ts'
import { group, newAppId, partitions, recordOf, runToEnd, topic } from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const mark_ms = day + 3600_000
const p = { verdict: verdictOf('p') }
const q = { verdict: verdictOf('q') }
const reborn = { installed_at_ms: mark_ms + 1, received_at_ms: mark_ms + 1 }

/** Writes decisions to one partition, each list in a life of its own; `between` is done before the list of that number. */
async function write(
  batches: Decision[][],
  erased: MemoryTombstones,
  between: Record<number, () => Promise<void>> = {},
) {
  const broker = memoryBroker(partitions, () => day)
  let dropped = 0
  for (const [n, batch] of batches.entries()) {
    await between[n]?.()
    await broker.publish(batch.map((decision) => recordOf(decision, 0)))
    const registry = await runToEnd(broker, clickhouse, erased)
    const { values } = (await registry.getSingleMetric('tributary_consumer_dropped_total')?.get()) ?? { values: [] }
    dropped += values.find(({ labels }) => labels.reason === 'erased')?.value ?? 0
  }
  return { broker, dropped }
}

const rowsOf = (app_id: string) =>
  clickhouse.query<{ sign: number; partner: string; offset: number }>(
    `SELECT offset, sign, partner FROM installs_v1 FINAL WHERE app_id = '${app_id}' ORDER BY offset, sign`,
  )

const erase = (app_id: string) =>
  clickhouse.command(`DELETE FROM installs_v1 WHERE app_id = '${app_id}' AND install_uuid = 'i'`)

test('a verdict on an erased life writes nothing, and a new life cancels nothing of it, deleted or not', async () => {
  for (const deleted of [false, true]) {
    const app_id = newAppId()
    const erased = memoryTombstones()
    const { dropped } = await write(
      [
        [decisionOf(app_id, 'i', { offset: 1, ...p }), decisionOf(app_id, 'other', { offset: 1, ...p })],
        // The second decision on the old life comes late. The third is on a new life, and so is the fourth.
        [
          decisionOf(app_id, 'i', { offset: 2, ...q }),
          decisionOf(app_id, 'i', { offset: 3, ...reborn, ...q }),
          decisionOf(app_id, 'i', { offset: 4, ...reborn }),
          decisionOf(app_id, 'other', { offset: 4 }),
        ],
      ],
      erased,
      {
        1: async () => {
          erased.erase(app_id, 'i', mark_ms)
          if (deleted) await erase(app_id)
        },
      },
    )
    expect(dropped).toBe(1)
    expect(await rowsOf(app_id)).toEqual([
      ...(deleted ? [] : [{ offset: 0, sign: 1, partner: 'p' }]),
      { offset: 1, sign: 1, partner: 'p' },
      { offset: 3, sign: 1, partner: 'q' },
      { offset: 4, sign: -1, partner: 'q' },
      { offset: 4, sign: 1, partner: 'organic' },
      { offset: 5, sign: -1, partner: 'p' },
      { offset: 5, sign: 1, partner: 'organic' },
    ])
  }
})

test('the erasure of the last install that a partition wrote has nobody read the log again', async () => {
  const app_id = newAppId()
  const erased = memoryTombstones()
  const first = decisionOf(app_id, 'i', { offset: 1, ...p })
  const { broker } = await write([[first]], erased)
  const { offset } = broker.committed(group, topic.name, 0)!
  erased.erase(app_id, 'i', mark_ms)
  await erase(app_id)
  await runToEnd(broker, clickhouse, erased)
  expect(broker.committed(group, topic.name, 0)).toMatchObject({ offset })
  expect(await rowsOf(app_id)).toEqual([])
})
