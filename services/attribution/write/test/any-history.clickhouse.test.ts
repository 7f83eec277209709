import { randomBytes } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { isBehind } from '@tributary/domain/attribute/decisions'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decisionOf, verdictOf } from './decisions.ts'
import {
  allDone,
  countingOf,
  derivedTables,
  group,
  newAppId,
  partitions,
  recordOf,
  runToEnd,
  start,
  topic,
  until,
  wrongSums,
} from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** What an attributor says of an install in one batch: the answers of its tries, and how late the slept ones come. */
const batch = fc.record({
  install: fc.nat({ max: 2 }),
  answers: fc.array(fc.record({ says: fc.nat({ max: 3 }), late_by: fc.option(fc.nat({ max: 6 })) }), {
    minLength: 1,
    maxLength: 3,
  }),
  /** The log of facts was made anew before it. */
  new_log: fc.boolean(),
})
const life = fc.record({
  publish: fc.integer({ min: 0, max: 6 }),
  chunk: fc.integer({ min: 1, max: 5 }),
  points: fc.integer({ min: 0, max: 14 }),
  broken: fc.constantFrom(null, null, 'installs_v1'),
  /** What becomes of the log after it: read again from its start, or made anew from what it held. */
  after: fc.constantFrom('nothing', 'nothing', 'nothing', 'reread', 'anew'),
})
const plan = fc.record({
  batches: fc.array(batch, { minLength: 1, maxLength: 10 }),
  repeats: fc.array(fc.nat(), { maxLength: 3 }),
  lives: fc.array(life, { maxLength: 5 }),
  chunk: fc.integer({ min: 1, max: 5 }),
})
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never

const contents = [
  { verdict: verdictOf('p') },
  { verdict: verdictOf('q') },
  { verdict: verdictOf('organic'), installed_at_ms: Date.UTC(2026, 2, 2) },
  { verdict: null },
]

/**
 * Decisions in the order of the log. The last try of a batch publishes in its turn; an earlier try slept, and publishes
 * later or never. Records may stand on the log twice.
 */
function streamOf(app_id: string, { batches, repeats }: Plan): Decision[] {
  const stream: { at: number; decision: Decision }[] = []
  let logs = 0
  for (const [offset, { install, answers, new_log }] of batches.entries()) {
    logs += Number(new_log)
    for (const [n, { says, late_by }] of answers.entries()) {
      const slept = n < answers.length - 1
      if (slept && late_by === null) continue
      const when = { offset, tried: n + 1, log: `installs.found.v1@${logs}` }
      const decision = decisionOf(app_id, `i-${install}`, { ...when, ...contents[says]! })
      stream.push({ at: slept ? offset + late_by! + 0.5 : offset, decision })
    }
  }
  const ordered = stream.toSorted((a, b) => a.at - b.at).map(({ decision }) => decision)
  return [...ordered, ...repeats.map((n) => ordered[n % ordered.length]!)]
}

const partitionOf = ({ install_uuid }: Decision): number => Number(install_uuid.at(-1)) % partitions

class Crash extends Error {}

/** Has every insert of the app fail in a view of the table, somewhere between the product's own; gives back the cure. */
async function breakInserts(app_id: string, table: string): Promise<() => Promise<void>> {
  const name = `broken_${randomBytes(6).toString('hex')}_mv`
  await clickhouse.command(
    `CREATE MATERIALIZED VIEW ${name} ENGINE = Null AS SELECT throwIf(countIf(app_id = '${app_id}') > 0) FROM ${table}`,
  )
  return () => clickhouse.command(`DROP VIEW ${name} SYNC`)
}

/** A ClickHouse whose caller may die before and after each statement; after each insert a reader looks at the sums. */
function fragile(app_id: string, mayCrash: () => void, seen: unknown[]): Clickhouse {
  return {
    ...clickhouse,
    async query(sql, params) {
      mayCrash()
      return clickhouse.query(sql, params)
    },
    async command(sql, options) {
      mayCrash()
      await clickhouse.command(sql, options)
      mayCrash()
    },
    async insert(block) {
      mayCrash()
      try {
        await clickhouse.insert(block)
      } finally {
        seen.push(...(await wrongSums(clickhouse, app_id)))
      }
      mayCrash()
    },
  }
}

/** The log is made anew from what it held: other offsets, another identity. */
async function makeAnew(broker: MemoryBroker) {
  for (let partition = 0; partition < partitions; partition += 1) {
    const held = [...broker.records(topic.name, partition)]
    broker.dropFrom(topic.name, partition, 0)
    await broker.publish(held.map(({ value, key }) => ({ topic: topic.name, partition, key, value })))
  }
}

async function readAgain(broker: MemoryBroker) {
  for (let partition = 0; partition < partitions; partition += 1) {
    broker.setCommitted(group, topic.name, partition, null)
  }
}

test('any history of tries, sleepers, kills, cuts and logs ends at the newest decision, and no reader sees another sum than 0 or 1', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const app_id = newAppId()
      let clock = 1_000_000
      const broker = memoryBroker(partitions, () => clock++)
      const stream = streamOf(app_id, given)
      const unpublished = [...stream]
      const publish = (n: number) =>
        broker.publish(unpublished.splice(0, n).map((decision) => recordOf(decision, partitionOf(decision))))
      const seen: unknown[] = []
      for (const { publish: n, chunk, points, broken, after } of given.lives) {
        await publish(n)
        broker.chunk_records_max = chunk
        let left = points
        const mayCrash = () => {
          if (left-- <= 0) throw new Crash()
        }
        const cure = broken === null ? null : await breakInserts(app_id, broken)
        const running = await start(broker, fragile(app_id, mayCrash, seen), mayCrash)
        await until(() => left < 0 || allDone(broker)(), 'crash or end')
        await running.close()
        await cure?.()
        if (after === 'reread') await readAgain(broker)
        if (after === 'anew') await makeAnew(broker)
      }
      await publish(stream.length)
      broker.chunk_records_max = given.chunk
      await runToEnd(
        broker,
        fragile(app_id, () => {}, seen),
      )
      expect(seen).toEqual([])
      expect(await countingOf(clickhouse, app_id)).toEqual(newestOf(stream))
      const { held, recounted } = await derivedTables(clickhouse, app_id)
      expect(held).toEqual(recounted)
    }),
    { numRuns: roundsOf(6) },
  )
})

/** What counts in the end: of each install the newest decision. */
function newestOf(stream: readonly Decision[]) {
  const newest = new Map<string, Decision>()
  for (const one of stream) {
    const known = newest.get(one.install_uuid)
    if (known === undefined || isBehind(known.decided_at, one.decided_at)) newest.set(one.install_uuid, one)
  }
  return [...newest.values()]
    .toSorted((a, b) => (a.install_uuid < b.install_uuid ? -1 : 1))
    .map(({ install_uuid, verdict, pending, installed_at_ms }) => {
      return { install_uuid, partner: verdict?.partner ?? '', pending: Number(pending), installed_at_ms, signs: 1 }
    })
}
