import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { type Aim, type Bench, type BenchRow, numberArgument } from './bench.ts'
import { openEmbedded, openServers } from './writer/engines.ts'
import { type EventLoad, newAppId } from './writer/events.ts'
import { prefill, waitForMerges } from './writer/prefill.ts'
import { fillLog, measureEngine, measureWriter } from './writer/stages.ts'

/** These rows are encoded in advance and held in memory. */
const engine_rows_max = 500_000
/** Events that create the group and the topic of commits, and warm the code up. */
const warm_rows = 20_000

/** Measures the event-writer from log to ClickHouse with growing tables, compared with plain inserts of the same rows. */
export const bench: Bench = {
  name: 'writer',
  title:
    'writer: log to ClickHouse, with deduplication (--kafka --rows 1000000 --stored 40000000 --shuffled 200000 --partitions 4)',
  async run(args) {
    const onKafka = args.includes('--kafka')
    const rows = numberArgument(args, 'rows', 1_000_000)
    // A prefill takes long on servers and shows nothing new.
    const stored_max = numberArgument(args, 'stored', onKafka ? 0 : 40_000_000)
    const shuffled = numberArgument(args, 'shuffled', 200_000)
    const partitions = numberArgument(args, 'partitions', 4)
    const engines = onKafka ? await openServers() : await openEmbedded(partitions)
    const { clickhouse, broker } = engines
    try {
      await migrateClickhouse({ clickhouse })
      const topic = { ...topics.eventsAccepted, partitions }
      await broker.applyTopics([topic, deadLetterTopic(topic)])
      return await measure({ clickhouse, broker, rows, stored_max, shuffled })
    } finally {
      await engines.close()
    }
  },
}

const microseconds = (seconds: number): number => Math.round(seconds * 1e8) / 100

interface Setup {
  clickhouse: Clickhouse
  broker: Broker
  rows: number
  stored_max: number
  shuffled: number
}

async function measure({ clickhouse, broker, rows, stored_max, shuffled }: Setup) {
  const until_ms = Date.now()
  const app_id = newAppId()
  const stored: EventLoad = { app_id, seed: 'stored', days: 365, until_ms }
  const table: BenchRow[] = []
  const stage = async (load: EventLoad, count: number) => {
    await fillLog(broker, load, count)
    await waitForMerges(clickhouse)
    const writer = await measureWriter(broker, clickhouse, count)
    await waitForMerges(clickhouse)
    const engine = await measureEngine(
      clickhouse,
      { ...load, app_id: newAppId() },
      Math.min(count, engine_rows_max),
      writer.block_rows,
    )
    const [held] = await clickhouse.query<{ rows: number }>('SELECT toUInt64(count()) AS rows FROM events_raw_v1')
    const engine_per_s = Math.round(engine.rows / engine.seconds)
    const figures = {
      load: load.days === 1 ? 'one day' : 'shuffled over a year',
      stored_after: held?.rows ?? 0,
      rows: writer.rows,
      block_rows: writer.block_rows,
      events_per_s: Math.round(writer.rows / writer.seconds),
      us_per_event: microseconds(writer.seconds / writer.rows),
      cpu_us_per_event: microseconds(writer.own / writer.rows),
      engine_process_us: microseconds(writer.engine / writer.rows),
      kafka_us: microseconds(writer.kafka / writer.rows),
      idle_us: microseconds(writer.idle / writer.rows),
      foreign_us: microseconds(writer.foreign / writer.rows),
      engine_per_s,
      engine_cpu_us_per_event: microseconds(engine.own / engine.rows),
      engine_alone_process_us: microseconds(engine.engine / engine.rows),
      engine_alone_idle_us: microseconds(engine.idle / engine.rows),
      engine_alone_foreign_us: microseconds(engine.foreign / engine.rows),
      share_of_engine: Math.round((writer.rows / writer.seconds / engine_per_s) * 1000) / 1000,
      rss_mb: Math.round(process.memoryUsage.rss() / 1e6),
    }
    console.info(JSON.stringify(figures))
    table.push(figures)
    return figures
  }
  const oneDay = (seed: string): EventLoad => ({ app_id, seed, days: 1, until_ms })
  await fillLog(broker, oneDay('warm'), warm_rows)
  await measureWriter(broker, clickhouse, warm_rows)
  const stages = [await stage(oneDay('a'), rows)]
  if (stored_max > 0) {
    await prefill(clickhouse, stored, 0, stored_max / 4)
    stages.push(await stage(oneDay('b'), rows))
    await prefill(clickhouse, stored, stored_max / 4, stored_max)
    stages.push(await stage(oneDay('c'), rows))
  }
  const hard = await stage({ ...stored, seed: 'd' }, shuffled)
  const share = Math.min(...stages.map(({ share_of_engine }) => share_of_engine))
  const growth = Math.round((stages.at(-1)!.us_per_event / stages[0]!.us_per_event) * 1000) / 1000
  const aims: Aim[] = [
    {
      what: "share of the engine's own insert rate, least of the sizes",
      aim: '>= 0.5',
      measured: share,
      met: share >= 0.5,
    },
    { what: 'us per event, largest store against the first rows', aim: '<= 1.2', measured: growth, met: growth <= 1.2 },
    {
      what: 'events/s shuffled over a year',
      aim: '>= 5000',
      measured: hard.events_per_s,
      met: hard.events_per_s >= 5000,
    },
  ]
  return { rows: table, aims }
}
