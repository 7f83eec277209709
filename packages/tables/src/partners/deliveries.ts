import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import type { Delivery } from '@tributary/contracts/admin/partners'
import { limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'

/** A try to deliver, as the log gets it. */
export type LoggedTry = Omit<Delivery, 'install_uuid' | 'answer'> & {
  app_id: string
  install_uuid: string
  answer: string
  /** The earlier of receipt and date of the event. */
  dated_at_ms: number
}

/** Columns of an insert into `partner_deliveries_v1`, whose lines `deliveryLine` makes. */
export const deliveryColumns = [
  ...(['app_id', 'day', 'partner', 'install_uuid', 'event_name', 'idempotency_key', 'try', 'dated_at_ms'] as const),
  ...(['tried_at_ms', 'outcome', 'status', 'reason', 'elapsed_ms', 'answer', 'delivery_key', 'erased'] as const),
]

/** A line of an insert into `partner_deliveries_v1`, in the order of its columns. */
export function deliveryLine(one: LoggedTry): string {
  const { app_id, partner, install_uuid, event_name, idempotency_key, dated_at_ms, tried_at_ms, outcome } = one
  const of = [app_id, utcDay(tried_at_ms), partner, install_uuid, event_name, idempotency_key, one.try, dated_at_ms]
  const ended = [tried_at_ms, outcome, one.status ?? 0, one.reason ?? '', one.elapsed_ms, one.answer]
  return JSON.stringify([...of, ...ended, deliveryKey(idempotency_key), 0])
}

/** 64 bits of the key, which is random: a row is named by them without it. */
const deliveryKey = (idempotency_key: string): string =>
  BigInt(`0x${idempotency_key.replaceAll('-', '').slice(0, 16)}`).toString()

/** Which tries of an app are listed: the newest, or the given ones. */
export interface DeliveriesWanted {
  app_id: string
  partner?: string | undefined
  limit: number
  /** Only the last try of each of these postbacks, by `idempotency_key`. */
  keys?: readonly string[]
}

type Row = Omit<Delivery, 'install_uuid' | 'status' | 'reason' | 'answer'> & {
  install_uuid: string
  status: number
  reason: string
  answer: string
  erased: number
}

/** Tries of an app, the newest first. */
export async function listDeliveries(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, partner, limit, keys }: DeliveriesWanted,
): Promise<Delivery[]> {
  if (keys?.length === 0) return []
  const where = [
    `app_id = ${textLiteral(app_id)}`,
    ...(partner === undefined ? [] : [`partner = ${textLiteral(partner)}`]),
    ...(keys === undefined
      ? []
      : [`delivery_key IN (${keys.map(deliveryKey).join(', ')})`, `idempotency_key IN (${textLiterals(keys)})`]),
  ]
  if (keys === undefined) where.push(`day IN (${textLiterals(await newestDays(clickhouse, where, limit))})`)
  const rows = await clickhouse.query<Row>(
    `SELECT partner, install_uuid, event_name, idempotency_key, try, tried_at_ms, outcome, status, reason, elapsed_ms, answer, erased
     FROM partner_deliveries_v1 WHERE ${where.join(' AND ')}
     ORDER BY tried_at_ms DESC, delivery_key, try DESC, erased DESC
     LIMIT 1 BY ${keys === undefined ? 'delivery_key, try' : 'delivery_key'}
     LIMIT ${Math.min(limit, limits.partner_deliveries_max)}`,
  )
  return rows.map(({ erased, install_uuid, status, reason, answer, ...row }) => ({
    ...row,
    install_uuid: erased === 1 ? null : install_uuid,
    status: status === 0 ? null : status,
    reason: reason === '' ? null : reason,
    answer: erased === 1 ? null : answer,
  }))
}

/** The days that hold the newest so many rows. Rows of a day have no order, so all of its rows are read. */
async function newestDays(
  clickhouse: Pick<Clickhouse, 'query'>,
  where: readonly string[],
  limit: number,
): Promise<string[]> {
  const days = await clickhouse.query<{ tried_day: string; rows: number }>(
    `SELECT toString(day) AS tried_day, toUInt32(uniqExact(delivery_key, try)) AS rows FROM partner_deliveries_v1
     WHERE ${where.join(' AND ')} GROUP BY day ORDER BY day DESC`,
  )
  const found = ['1970-01-01'] // a set is never empty
  let rows = 0
  for (const one of days) {
    if (rows >= limit) break
    rows += one.rows
    found.push(one.tried_day)
  }
  return found
}

/**
 * Inserts rows of an app again without what they hold of a person, before they are deleted. `keys` are values of day, `delivery_key` and
 * `try`; the statement names no install. Repeating it changes nothing.
 */
export async function blankDeliveries(
  clickhouse: Pick<Clickhouse, 'command'>,
  app_id: string,
  keys: readonly (readonly (string | number)[])[],
  name: string,
): Promise<void> {
  const places = keys.map(
    ([day, key, number]) => `(toDate(${textLiteral(`${day}`)}), ${BigInt(key!)}, ${Number(number)})`,
  )
  await clickhouse.command(
    `INSERT INTO partner_deliveries_v1 (${kept.join(', ')}, erased)
     SELECT ${kept.join(', ')}, 1 FROM partner_deliveries_v1
     WHERE app_id = ${textLiteral(app_id)} AND erased = 0 AND (day, delivery_key, try) IN (${places.join(', ')})
     SETTINGS ${settingsSql({ ...insertSettings, deduplicate_insert_select: 'disable' })}`,
    { name, attempt: 1 },
  )
}

const personal: ReadonlySet<string> = new Set(['install_uuid', 'idempotency_key', 'answer', 'dated_at_ms', 'erased'])
const kept = deliveryColumns.filter((column) => !personal.has(column))
