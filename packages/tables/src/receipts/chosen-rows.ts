import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { copySettings } from '@tributary/clickhouse/insert-settings'
import { keySet, textLiteral } from '@tributary/clickhouse/literals'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import { revenueRowColumns } from '@tributary/contracts/rows'
import type { Choice } from '@tributary/domain/money/choose-claims'
import { copyingOf } from '../money/cancel-beaten-claims.ts'
import {
  type EventPlace,
  inParts,
  ofPlaces,
  placeColumns,
  placeOf,
  placeValues,
  valuesSql,
  versionAfter,
} from './event-places.ts'

/** What holds of the money of an event before it is chosen. */
interface HeldMoney {
  /** Whether its own amount counts no more. */
  is_cancelled: boolean
  /** What a receipt chose; null: nothing was chosen. */
  choice: Choice | null
  /** Of the row with the choice; digits. */
  version: string
}

/** An event with money whose choice is known. */
export interface ChosenEvent extends EventPlace {
  stated: { amount_micros: number; currency: string }
  dated_at_ms: number
  choice: Choice
}

/**
 * Writes what counts of the money of these events, as far as it differs from what holds: `revenue_cancelled_v1` takes the event's own amount
 * away, `revenue_chosen_v1` says what counts. With `again`, rows that are there are put in once more: after a crash in the midst of an
 * insert the stamps of their days may lack them.
 */
export async function writeChoices(
  clickhouse: Pick<Clickhouse, 'query' | 'command'>,
  app_id: string,
  events: readonly ChosenEvent[],
  again: boolean,
): Promise<void> {
  for (const some of inParts(events)) {
    const held = await findHeld(clickhouse, app_id, some)
    const changed = some.filter((event) => {
      const before = held.get(placeOf(event))
      return before !== undefined && (again || !isSame(event, before)) && !countsAsStated(event, before)
    })
    if (changed.length > 0) await write(clickhouse, app_id, changed, versionAfter(held.values()))
  }
}

/** What holds of each event that has money; none for one that was erased. */
async function findHeld(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  events: readonly EventPlace[],
): Promise<Map<string, HeldMoney>> {
  const find = <Row extends EventPlace>(table: string, more = '') =>
    clickhouse.query<Row>(`SELECT ${placeValues('t.')}${more} FROM ${table} WHERE ${ofPlaces(app_id, events, 't.')}`)
  const own = await find('revenue_raw_v1 AS t')
  const cancelled = new Set((await find('revenue_cancelled_v1 AS t FINAL')).map(placeOf))
  const chosen = await find<ChosenRow>(
    'revenue_chosen_v1 AS t FINAL',
    ', counts, currency, amount_micros, price_source, reused, toString(t.version) AS version',
  )
  const rows = new Map(chosen.map((row) => [placeOf(row), row]))
  return new Map(
    own.map(placeOf).map((place) => {
      const row = rows.get(place)
      const choice = row === undefined ? null : choiceOf(row)
      return [place, { is_cancelled: cancelled.has(place), choice, version: row?.version ?? '0' }]
    }),
  )
}

interface ChosenRow extends EventPlace {
  counts: 0 | 1
  currency: string
  amount_micros: number
  price_source: 'store' | 'event' | ''
  reused: 0 | 1
  version: string
}

const choiceOf = ({ counts, currency, amount_micros, price_source, reused }: ChosenRow): Choice => ({
  money: counts === 1 ? { amount_micros, currency } : null,
  price_source: price_source === '' ? null : price_source,
  reused: reused === 1,
})

/** Nothing has to be written for an event whose own amount counts. */
const countsAsStated = ({ choice, stated }: ChosenEvent, { is_cancelled, choice: before }: HeldMoney): boolean =>
  !is_cancelled &&
  before === null &&
  choice.price_source !== 'store' &&
  choice.money?.amount_micros === stated.amount_micros &&
  choice.money.currency === stated.currency

const isSame = ({ choice }: ChosenEvent, { is_cancelled, choice: before }: HeldMoney): boolean =>
  is_cancelled &&
  before !== null &&
  before.money?.amount_micros === choice.money?.amount_micros &&
  before.money?.currency === choice.money?.currency &&
  before.price_source === choice.price_source &&
  before.reused === choice.reused

const given = {
  counts: { type: 'UInt8', literal: ({ choice }: ChosenEvent) => (choice.money === null ? '0' : '1') },
  code: {
    type: 'String',
    literal: ({ choice, stated }: ChosenEvent) => textLiteral((choice.money ?? stated).currency),
  },
  amount: { type: 'Int64', literal: ({ choice }: ChosenEvent) => `${Number(choice.money?.amount_micros ?? 0)}` },
  price_source: { type: 'String', literal: ({ choice }: ChosenEvent) => textLiteral(choice.price_source ?? '') },
  reused: { type: 'UInt8', literal: ({ choice }: ChosenEvent) => (choice.reused ? '1' : '0') },
  dated_at_ms: { type: 'Int64', literal: ({ dated_at_ms }: ChosenEvent) => `${Number(dated_at_ms)}` },
} as const

/** Cancels all claims without a receipt on crowded transactions, which a confirmed one beats for ever: the engine finds them. */
export async function cancelCrowded(
  clickhouse: Pick<Clickhouse, 'command'>,
  app_id: string,
  claim_keys: readonly string[],
): Promise<void> {
  if (claim_keys.length === 0) return
  const columns = revenueRowColumns.join(', ')
  const ofClaims = `SELECT ${placeColumns()} FROM transaction_claims_v1 WHERE app_id = ${textLiteral(app_id)} AND claim_key IN ${keySet(claim_keys)}`
  await clickhouse.command(
    `INSERT INTO revenue_cancelled_v1 (${columns}) SELECT ${columns} FROM revenue_raw_v1
     WHERE app_id = ${textLiteral(app_id)} AND day IN (SELECT day FROM (${ofClaims}))
       AND (${placeColumns()}) IN (${ofClaims})
       AND (${placeColumns()}) NOT IN (SELECT ${placeColumns()} FROM revenue_cancelled_v1 WHERE app_id = ${textLiteral(app_id)}
         AND (${placeColumns()}) IN (${ofClaims}))
     SETTINGS ${settingsSql(copySettings)}`,
    { name: `${copyingOf(app_id)}money` },
  )
}

/** A crash in between: money is missing until the receipt, which is still due, is judged again. */
async function write(
  clickhouse: Pick<Clickhouse, 'command'>,
  app_id: string,
  events: readonly ChosenEvent[],
  version: string,
): Promise<void> {
  const cancelled = revenueRowColumns.join(', ')
  const copy = (sql: string) =>
    clickhouse.command(`${sql} SETTINGS ${settingsSql(copySettings)}`, { name: `${copyingOf(app_id)}money` })
  await copy(
    `INSERT INTO revenue_cancelled_v1 (${cancelled}) SELECT ${cancelled} FROM revenue_raw_v1 WHERE ${ofPlaces(app_id, events)}`,
  )
  const own = `${placeColumns()}, ts_ms, correction_ms, install_key, event_name, received_at_ms`
  await copy(
    `INSERT INTO revenue_chosen_v1 (app_id, ${own}, dated_at_ms, counts, currency, amount_micros, price_source, reused, version)
     SELECT r.*, v.dated_at_ms, v.counts, v.code, v.amount, v.price_source, v.reused, ${BigInt(version)}
     FROM (SELECT app_id, ${own} FROM revenue_raw_v1 WHERE ${ofPlaces(app_id, events)}) AS r
     INNER JOIN ${valuesSql(events, given)} AS v USING (day, event_key, topic, partition, offset)`,
  )
}
