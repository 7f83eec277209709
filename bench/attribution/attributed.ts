import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Found, InstallFact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { installAttributor } from '@tributary/install-attributor/install-attributor'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { waitForMerges } from '../writer/prefill.ts'

/** More exceed the memory limit of the embedded engine. */
const slice_rows = 200_000
/** Time between two clicks, which are stored in the order of time, as a log brings them; ten million take 12 days. */
export const click_step_ms = 100
export interface Load {
  app_id: string
  /** Time of the first click. */
  begin_ms: number
  /** Clicks that are stored. */
  stored: number
  /** Installs that earlier batches brought. */
  decided: number
}

/** Finds the clicks that an earlier run kept, if it did. */
export async function loadOf(clickhouse: Clickhouse, begin_ms: number): Promise<Load> {
  const [clicks] = await clickhouse.query<Omit<Load, 'decided'>>(
    'SELECT app_id, min(clicked_at_ms) AS begin_ms, count() AS stored FROM clicks_raw_v1 GROUP BY app_id',
  )
  const [facts] = await clickhouse.query<Pick<Load, 'decided'>>('SELECT count() AS decided FROM install_facts_v1')
  return { app_id: randomUUID(), begin_ms, stored: 0, ...clicks, decided: facts!.decided }
}

const deviceOf = (n: number): string => `device-${n}`
/** Odd, so that no two of 2^24 numbers share an address, and those of a minute lie in many networks. */
const address_step = 10_000_019
const addresses = 2 ** 24
/** The `n`th address of a first byte. */
function addressOf(n: number, first = 10): string {
  const at = (n * address_step) % addresses
  return [first, at >> 16, (at >> 8) & 255, at & 255].join('.')
}
const clickedAt = (n: number, begin_ms: number): number => begin_ms + n * click_step_ms

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
export async function storeClicks(
  clickhouse: Clickhouse,
  { app_id, begin_ms, stored, to }: Load & { to: number },
): Promise<void> {
  const ms = `(${begin_ms} + n * ${click_step_ms})`
  const hex = `lower(leftPad(hex(toUInt64(${ms})), 12, '0'))`
  const ip = `IPv4NumToString(toUInt32(10 * ${addresses} + (n * ${address_step}) % ${addresses}))`
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
  for (let at = stored; at < to; at += slice_rows) {
    await clickhouse.command(
      `INSERT INTO clicks_raw_v1 (${Object.keys(values).join(', ')}) SELECT ${Object.entries(values)
        .map(([name, value]) => `${value} AS ${name}`)
        .join(', ')}
       FROM (SELECT number AS n FROM numbers(${at}, ${Math.min(slice_rows, to - at)}))`,
    )
  }
  await waitForMerges(clickhouse)
}

/** An attributor of the app alone. */
export function openAttributor({ clickhouse, broker }: { clickhouse: Clickhouse; broker: Broker }, app_id: string) {
  return installAttributor({
    // Nobody writes verdicts here: the waits for them are measured by what runs all services.
    ...{
      broker: { ...broker, groupOffsets: async () => [] },
      clickhouse,
      lookups: clickhouseLookups(clickhouse),
      now: Date.now,
    },
    redecisions: memoryRedecisions(),
    attributionApps: memoryAttributionApps([{ app_id: app_id, company_id: 'co_bench' }]),
    geo: { lookUp: () => ({ country: null, datacenter: false }) },
  })
}

/** A batch of these installs, the first of which is the `from`th. */
export function batchOf(installs: readonly InstallFact[], from: number): Batch<Found> {
  const { topic } = consumers.installAttributor
  return {
    ...{
      topic: topic.name,
      partition: 0,
      source: `${topic.name}@bench`,
      from,
      to: from + installs.length - 1,
      attempt: 1,
      tombstones: noTombstones,
      stored_at_ms: 0,
    },
    ...{ token: `bench/${from}`, state: undefined, signal: new AbortController().signal },
    records: installs.map((value) => ({ value, record: {} as never })),
    ...{ keep() {}, fence: async () => {}, dead() {}, dropped() {}, written() {} },
  }
}

/** Makes the `n`th install. Every second one clicked before; the others have devices that nobody has seen. */
export type InstallOf = (load: Load, n: number) => InstallFact

/** Installs that come as their clicks came, all over the time of these: clicked an hour before, and some three, as in a replay of days. */
export const spreadInstallOf: InstallOf = (load, n) => {
  const clicked = (n * 104_729) % load.stored
  const installed_at_ms = clickedAt(clicked, load.begin_ms) + (n % 40 === 0 ? 3 : 1) * hour_ms
  return factOf(load, n, n % 2 === 0 ? { clicked, installed_at_ms } : justNow(load, n))
}

/** Installs of the last minute: of 100 with a click 75 clicked within the hour before, 20 within a day, and 5 within the window of a week. */
export const liveInstallOf: InstallOf = (load, n) => {
  if (n % 2 === 1) return factOf(load, n, justNow(load, n))
  const percent = (Math.imul(n, 0x9e3779b1) >>> 16) % 100
  const longest_ms = percent < 75 ? hour_ms : percent < 95 ? day_ms : 7 * day_ms
  // The minute of the installs comes after the newest click. The product is a safe integer.
  const age_ms = ((n % 1_000_000) * 7_654_321_987) % longest_ms
  const clicked = Math.max(0, load.stored - 1 - Math.floor(age_ms / click_step_ms))
  return factOf(load, n, { ...justNow(load, n), clicked })
}

const justNow = ({ begin_ms, stored }: Load, n: number) => ({
  installed_at_ms: clickedAt(stored, begin_ms) + (n % 60_000),
})

function factOf(
  { app_id }: Load,
  n: number,
  { installed_at_ms, clicked }: { installed_at_ms: number; clicked?: number },
): InstallFact {
  const isKnown = clicked !== undefined
  return {
    ...{ kind: 'install', v: 1, company_id: 'co_bench', app_id, install_uuid: randomUUID(), installed_at_ms },
    ...{ received_at_ms: installed_at_ms, event_name: 'app_install', is_sdk: true, platform: 'android' },
    place: { topic: 'events.accepted.v1@bench', partition: 0, offset: n, index: 0 },
    ...{
      ip: isKnown ? addressOf(clicked) : addressOf(n, 11),
      os_major: 15,
      model: null,
      user_id: `user-${n}`,
    },
    device_hashes: [isKnown ? deviceOf(clicked) : `new-${n}`],
    ...{ referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
  }
}
