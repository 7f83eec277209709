import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import type { Found, InstallFact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms } from '@tributary/contracts/limits'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { installAttributor } from '@tributary/install-attributor/install-attributor'
import { clickhouseLookups } from '@tributary/install-attributor/lookups/clickhouse-lookups'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { type Bench, type BenchRow, numberArgument, percentile } from '../bench.ts'
import { openEmbedded, type WriterEngines } from '../writer/engines.ts'
import { waitForMerges } from '../writer/prefill.ts'

/** More exceed the memory limit of the embedded engine. */
const slice_rows = 200_000
/** Times of the clicks. */
const spread_ms = 14 * day_ms
/** Batches that are not measured: they open what stays open. */
const warm_batches = 2

/** Measures install-attributor with more and more clicks stored. Half of the installs have a click. */
export const bench: Bench = {
  name: 'attribute',
  title: 'attribute: facts to decisions, with clicks stored (--clicks 10000000 --batches 20 --installs 1000)',
  async run(args) {
    const most = numberArgument(args, 'clicks', 10_000_000)
    const batches = numberArgument(args, 'batches', 20)
    const installs = numberArgument(args, 'installs', 1000)
    const engines = await openEmbedded(1)
    const app_id = randomUUID()
    const until_ms = Date.now()
    const rows: BenchRow[] = []
    try {
      await migrateClickhouse({ clickhouse: engines.clickhouse })
      await engines.broker.applyTopics(Object.values(consumers).map(({ topic }) => topic))
      let stored = 0
      for (const clicks of [most / 10, most]) {
        await storeClicks(engines.clickhouse, { app_id, until_ms, from: stored, to: clicks })
        stored = clicks
        rows.push({ clicks, ...(await measure(engines, { app_id, until_ms, stored, batches, installs })) })
      }
    } finally {
      await engines.close()
    }
    const [few, many] = rows.map((row) => row as Record<string, number>) as [
      Record<string, number>,
      Record<string, number>,
    ]
    const growth = Math.round((100 * many.batch_ms_p50!) / few.batch_ms_p50!) / 100
    return {
      rows,
      aims: [
        { what: 'installs/s', aim: '>= 2000', measured: many.installs_per_s!, met: many.installs_per_s! >= 2000 },
        { what: 'time of a batch, most clicks to a tenth', aim: '<= 1.2', measured: growth, met: growth <= 1.2 },
      ],
    }
  },
}

interface Load {
  app_id: string
  until_ms: number
}

const deviceOf = (n: number): string => `device-${n}`
const addressOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
const clickedAt = (n: number, until_ms: number): number => until_ms - ((n * 7919) % spread_ms)

/** Most of a click, as `clicks_raw_v1` holds it: `@` stands for its number, `#` for what the engine works out. */
const clickText = (app_id: string): string =>
  JSON.stringify({
    ...{ v: 1, click_id: '#id', company_id: 'co_bench', app_id, link_id: 'link@' },
    ...{ partner: 'partner', campaign: 'campaign', ad_group: null, creative: null, ext_click_id: 'ext-@' },
    ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, deep_link: null, lookback_hours: null },
    ...{ clicked_at_ms: '#ms', filtered_reason: null, country: null, os: 'android', os_major: 15, model: null },
    device_hashes: ['device-@'],
  })

/** Lets the engine make clicks, the `n`th of the `n`th device, with the keys that the product gives them. */
async function storeClicks(
  clickhouse: Clickhouse,
  { app_id, until_ms, from, to }: Load & { from: number; to: number },
): Promise<void> {
  const ms = `${until_ms} - ((n * 7919) % ${spread_ms})`
  const hex = `lower(leftPad(hex(toUInt64(${ms})), 12, '0'))`
  const ip = `concat('10.', toString(bitAnd(bitShiftRight(n, 16), 255)), '.', toString(bitAnd(bitShiftRight(n, 8), 255)), '.', toString(bitAnd(n, 255)))`
  const device = `concat('device-', toString(n))`
  const key = (kind: string, value: string) =>
    `reinterpretAsUInt64(reverse(substring(SHA256(concat('${kind}', char(0), ${value})), 1, 8)))`
  const values: Record<string, string> = {
    app_id: `'${app_id}'`,
    click_id: `concat(substring(right(${hex}, 12), 1, 8), '-', substring(right(${hex}, 12), 9, 4), '-7000-8000-', leftPad(lower(hex(n)), 12, '0'))`,
    day: `toDate(fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC'))`,
    clicked_at_ms: ms,
    partner: `concat('partner', toString(n % 10))`,
    campaign: `concat('campaign', toString(n % 100))`,
    ip,
    user_agent: `'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36'`,
    click: `replaceOne(replaceOne(replaceAll('${clickText(app_id)}', '@', toString(n)), '#id', click_id), '"#ms"', toString(${ms}))`,
    match_keys: `[${key('device', device)}, ${key('address_model', `concat(${ip}, char(0), '15', char(0))`)}, ${key('address', `concat(${ip}, char(0), '15')`)}]`,
    topic: `'clicks.recorded.v1@bench'`,
    offset: 'n',
  }
  for (let at = from; at < to; at += slice_rows) {
    await clickhouse.command(
      `INSERT INTO clicks_raw_v1 (${Object.keys(values).join(', ')}) SELECT ${Object.entries(values)
        .map(([name, value]) => `${value} AS ${name}`)
        .join(', ')}
       FROM (SELECT number AS n FROM numbers(${at}, ${Math.min(slice_rows, to - at)}))`,
    )
  }
  await waitForMerges(clickhouse)
}

type Measured = Load & { stored: number; batches: number; installs: number }

async function measure({ clickhouse, broker }: WriterEngines, given: Measured): Promise<BenchRow> {
  const attributor = installAttributor({
    // Nobody writes verdicts here: the waits for them are measured by what runs all services.
    ...{
      broker: { ...broker, groupOffsets: async () => [] },
      clickhouse,
      lookups: clickhouseLookups(clickhouse),
      now: Date.now,
    },
    attributionApps: memoryAttributionApps([{ app_id: given.app_id, company_id: 'co_bench' }]),
    geo: { lookUp: () => ({ country: null, datacenter: false }) },
  })
  const times: number[] = []
  for (let n = 0; n < given.batches + warm_batches; n += 1) {
    const batch = batchOf(given, n)
    const begun = performance.now()
    await attributor.handle(batch)
    if (n >= warm_batches) times.push(performance.now() - begun)
  }
  const whole_ms = times.reduce((sum, ms) => sum + ms, 0)
  return {
    installs_per_s: Math.round((1000 * given.batches * given.installs) / whole_ms),
    batch_ms_p50: Math.round(percentile(times, 0.5)),
    batch_ms_p99: Math.round(percentile(times, 0.99)),
  }
}

function batchOf(given: Measured, n: number): Batch<Found> {
  const { installs, stored } = given
  const from = stored + n * installs
  const { topic } = consumers.installAttributor
  return {
    ...{
      topic: topic.name,
      partition: 0,
      source: `${topic.name}@bench`,
      from,
      to: from + installs - 1,
      begun: 1,
      tries: 1,
      tombstones: noTombstones,
    },
    ...{ token: `bench/${stored}/${n}`, repeated: false, state: undefined, signal: new AbortController().signal },
    records: Array.from({ length: installs }, (_, at) => ({ value: installOf(given, from + at), record: {} as never })),
    ...{ keep() {}, fence: async () => {}, dead() {}, dropped() {}, written() {} },
  }
}

/** Every second install clicked an hour ago; the others have devices that nobody has seen. */
function installOf({ app_id, until_ms, stored }: Measured, n: number): InstallFact {
  const clicked = (n * 104_729) % stored
  const installed_at_ms = n % 2 === 0 ? clickedAt(clicked, until_ms) + 3600_000 : until_ms - (n % 60_000)
  return {
    ...{ kind: 'install', v: 1, company_id: 'co_bench', app_id, install_uuid: randomUUID(), installed_at_ms },
    ...{ received_at_ms: installed_at_ms, event_name: 'app_install', is_sdk: true, platform: 'android' },
    place: { topic: 'events.accepted.v1@bench', partition: 0, offset: n, index: 0 },
    ...{
      ip: n % 2 === 0 ? addressOf(clicked) : `192.168.${(n >> 8) & 255}.${n & 255}`,
      os_major: 15,
      model: null,
      user_id: `user-${n}`,
    },
    device_hashes: [n % 2 === 0 ? deviceOf(clicked) : `new-${n}`],
    ...{ referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
  }
}
