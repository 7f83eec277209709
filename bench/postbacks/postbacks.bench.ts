import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { judgePostback } from '@tributary/domain/postback/judge'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { type Aim, type Bench, type BenchRow, numberArgument, percentile } from '../bench.ts'
import { openEmbedded } from '../writer/engines.ts'
import { waitForMerges } from '../writer/prefill.ts'
import { postbackBodies, postbackKinds } from './postback-bodies.ts'
import { prefillPostbacks } from './prefill-postbacks.ts'
import { measureReport } from './skan-report.ts'
import { measurePostbackWriter } from './writer.ts'

/** Postbacks that warm the code up. */
const warm = 2000

/** Verification alone, then the writer and the report while the tables grow. `postbacks-http` measures the door. */
export const bench: Bench = {
  name: 'postbacks',
  title: 'postbacks: verify, write from the log, report, with growing tables (--rows 20000 --stored 10000000)',
  async run(args) {
    const rows = numberArgument(args, 'rows', 20_000)
    const stored_max = numberArgument(args, 'stored', 10_000_000)
    const verified = postbackKinds.map((kind) => measureVerification(kind, rows / 4))
    const stages = await measureStages(rows, stored_max)
    const p256 = verified.find(({ kind }) => kind === '4.0')!
    const [first, last] = [stages.at(1) ?? stages[0]!, stages.at(-1)!]
    const growth = Math.round((last.cpu_us_each / first.cpu_us_each) * 100) / 100
    const aims: Aim[] = [
      {
        ...{ what: 'verified 4.0 per CPU second', aim: '>= 2000' },
        ...{ measured: p256.per_cpu_second, met: p256.per_cpu_second >= 2000 },
      },
      {
        what: `CPU of one at ${last.stored}, by that at ${first.stored}`,
        aim: '<= 1.2',
        measured: growth,
        met: growth <= 1.2,
      },
    ]
    const empty = { per_cpu_second: '', report_30_days_ms: '', report_year_ms: '' }
    const table: BenchRow[] = [
      ...verified.map(({ kind, cpu_us_each, per_cpu_second }) => ({
        ...{ what: `verify ${kind}`, stored: 0, cpu_us_each, ...empty, per_cpu_second },
      })),
      ...stages.map((stage) => ({ what: 'log to ClickHouse', ...stage })),
    ]
    return { rows: table, aims }
  },
}

type Kind = (typeof postbackKinds)[number]
const microseconds = (seconds: number): number => Math.round(seconds * 1e7) / 10
const cpuNow = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function measureVerification(kind: Kind, count: number) {
  const apple = createAppleTwin()
  const bodies = postbackBodies(apple, kind, count)
  for (const body of bodies.slice(0, warm)) judgePostback(body, apple.keys)
  const before = cpuNow()
  for (const body of bodies) judgePostback(body, apple.keys)
  const each = (cpuNow() - before) / bodies.length
  return { kind, cpu_us_each: microseconds(each), per_cpu_second: Math.round(1 / each) }
}

/** The writer with empty tables, with a tenth of `stored_max`, and with all of it. */
async function measureStages(rows: number, stored_max: number) {
  const { clickhouse, broker, close } = await openEmbedded(4)
  try {
    await migrateClickhouse({ clickhouse })
    const topic = { ...topics.postbacksReceived, partitions: 4 }
    await broker.applyTopics([topic, deadLetterTopic(topic)])
    const apple = createAppleTwin()
    await measurePostbackWriter({ clickhouse, broker, apple }, warm)
    const stages = []
    for (const stored of [0, stored_max / 10, stored_max]) {
      await prefillPostbacks(clickhouse, stored, stored_max)
      await waitForMerges(clickhouse)
      await measurePostbackWriter({ clickhouse, broker, apple }, warm)
      await waitForMerges(clickhouse)
      const each = percentile(
        await measureRounds(() => measurePostbackWriter({ clickhouse, broker, apple }, rows), rows),
        0.5,
      )
      stages.push({
        ...{ stored: await count(clickhouse), cpu_us_each: microseconds(each), per_cpu_second: Math.round(1 / each) },
        report_30_days_ms: await measureReport(clickhouse, 30),
        report_year_ms: await measureReport(clickhouse, 365),
      })
    }
    return stages
  } finally {
    await close()
  }
}

/** CPU of a row in each round, seconds. A merge of what was filled in may fall into one: it is none of the rows'. */
async function measureRounds(work: () => Promise<void>, rows: number): Promise<number[]> {
  const rounds: number[] = []
  while (rounds.length < 3) {
    const before = cpuNow()
    await work()
    rounds.push((cpuNow() - before) / rows)
  }
  return rounds
}

async function count(clickhouse: Clickhouse): Promise<number> {
  const [held] = await clickhouse.query<{ rows: number }>('SELECT count() AS rows FROM postbacks_decoded_v1')
  return held!.rows
}
