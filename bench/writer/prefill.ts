import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { eventRowColumns } from '@tributary/contracts/rows'
import type { EventLoad } from './events.ts'

/** 500 000 rows exceeded the memory limit of the embedded engine. */
const slice_rows = 200_000

/** SQL values of row number `n` by column. Other columns take their default. */
const generated = ({
  app_id,
  days,
  until_ms,
}: EventLoad): Partial<Record<(typeof eventRowColumns)[number], string>> => {
  const ts = `${until_ms} - (n % ${days}) * 86400000 - intHash32(n) % 3600000`
  return {
    app_id: `'${app_id}'`,
    day: `toDate(fromUnixTimestamp64Milli(toInt64(${ts}), 'UTC'))`,
    install_uuid: `concat('0190a7c2-5e3b-7cc4-9d1f-', leftPad(hex(intHash32(n) % 1000000), 12, '0'))`,
    ts_ms: ts,
    event_name: `concat('level_', toString(n % 30))`,
    event_id: `concat('stored-', toString(n))`,
    event_key: 'sipHash64(n)',
    key_day: `toDate(fromUnixTimestamp64Milli(toInt64(${ts}), 'UTC'))`,
    user_id: `concat('player-', toString(n % 1000000))`,
    props: `concat('{"level":', toString(n % 100), ',"score":', toString(n), ',"mode":"ranked"}')`,
    device: `'{"os":"android","os_version":"14"}'`,
    extra: `'{}'`,
    platform: `'android'`,
    source: `'sdk'`,
    company_id: `'co_0123456789abcdef0123'`,
    received_at_ms: String(until_ms),
    topic: `'events.accepted.v1'`,
    partition: '1000',
    offset: 'n',
  }
}

/** Lets the engine generate rows `from..to` of a load, including views, and waits for its merges. */
export async function prefill(clickhouse: Clickhouse, load: EventLoad, from: number, to: number): Promise<void> {
  const values = generated(load)
  const columns = eventRowColumns.filter((column) => values[column] !== undefined)
  const select = columns.map((column) => values[column]).join(', ')
  for (let at = from; at < to; at += slice_rows) {
    const rows = Math.min(slice_rows, to - at)
    await clickhouse.command(
      `INSERT INTO events_raw_v1 (${columns.join(', ')}) SELECT ${select} FROM (SELECT number AS n FROM numbers(${at}, ${rows}))`,
    )
  }
  await waitForMerges(clickhouse)
}

/** Waits until the engine has no running merge, so that one run does not slow the next. */
export async function waitForMerges(clickhouse: Clickhouse): Promise<void> {
  const deadline = Date.now() + 120_000
  while (Date.now() < deadline) {
    const [merges] = await clickhouse.query<{ running: number }>(
      'SELECT toUInt32(count()) AS running FROM system.merges',
    )
    if (merges?.running === 0) return
    await pause(200)
  }
}
