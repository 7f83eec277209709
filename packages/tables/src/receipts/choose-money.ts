import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { choiceOf, chooseClaims, countsNothing, isConfirmed, isRefund } from '@tributary/domain/money/choose-claims'
import { afterRunning } from '@tributary/postgres/one-at-a-time'
import { Semaphore } from 'async-mutex'
import type { Pool } from 'pg'
import { endVerdicts, pinVerdicts } from '../raw/verdict-stamps.ts'
import { type ChosenEvent, cancelCrowded, writeChoices } from './chosen-rows.ts'
import { placeOf, versionAfter } from './event-places.ts'
import { claimOf, findClaims } from './find-claims.ts'
import {
  claimedId,
  findVerdicts,
  type JudgedEvent,
  sameVerdict,
  type VerdictRow,
  writeVerdicts,
} from './verdict-rows.ts'

export interface ChooseDeps {
  clickhouse: Pick<Clickhouse, 'query' | 'command'>
  postgres: Pool
  now(): number
}

interface ChooseOptions {
  /** Some of it may have been done before, by a process that was killed. */
  again?: boolean
  /** Tests have it called before each step; throwing is the crash. */
  crash?(step: 'verdicts' | 'stored' | 'money'): void
}

/** A verdict as it stands now, and what counts of its event. */
export interface ReceiptAsItStands {
  row: VerdictRow
  /**
   * The event whose money is the charge of the same transaction; null while none counts that a store confirmed, and once its refund counts.
   */
  charge: ChosenEvent | null
}

/**
 * Stores verdicts on events of an app and lets the money follow: which claims count now that may have changed. One process at a time
 * does it for an app, so that the newest choice follows from all verdicts
 * (docs/decisions/money.md#receipts-choose-what-counts). May be repeated; events that were erased meanwhile are left out. Gives back the
 * verdicts as they stand, by `placeOf`: a store that is away takes no verdict back.
 */
export function judgeMoney(
  deps: ChooseDeps,
  app_id: string,
  judged: readonly JudgedEvent[],
  { again = false, crash }: ChooseOptions = {},
): Promise<Map<string, ReceiptAsItStands>> {
  const { clickhouse, postgres, now } = deps
  return underLock(deps, app_id, async () => {
    const places = judged.map(({ place }) => place)
    const before = new Map((await findVerdicts(clickhouse, app_id, places)).map((row) => [placeOf(row), row]))
    const news = judged.flatMap((one) => {
      const held = before.get(placeOf(one.place))
      if (held === undefined || isNews(one, held)) return [one]
      // A reader of raw rows may have gone past its stamp before it was there.
      return again ? [isWeaker(one, held) ? { ...one, judged: sameVerdict(held) } : one] : []
    })
    if (news.length > 0) {
      const stored_at_ms = await pinVerdicts(postgres, app_id)
      crash?.('verdicts')
      // Of two rows of an event the one with the later stamp holds, also when the other one was on its way for hours.
      const version = versionAfter([...before.values(), { version: `${stored_at_ms - 1}` }])
      await writeVerdicts(clickhouse, app_id, news, { now_ms: now(), version, stored_at_ms })
      crash?.('stored')
      await endVerdicts(postgres, app_id, stored_at_ms)
    }
    const after = await findVerdicts(clickhouse, app_id, places)
    const ids = [...before.values(), ...after].map(claimedId)
    crash?.('money')
    const charges = await choose(clickhouse, app_id, { ids, alone: after, again })
    return new Map(after.map((row) => [placeOf(row), { row, charge: charges.get(claimedId(row)) ?? null }]))
  })
}

/** Lets the money of some transactions follow from the verdicts once more: claims have joined them since. */
export const chooseAgain = (
  deps: ChooseDeps,
  app_id: string,
  ids: readonly string[],
  { again }: { again: boolean },
): Promise<unknown> => underLock(deps, app_id, () => choose(deps.clickhouse, app_id, { ids, alone: [], again }))

const isWeaker = ({ judged }: JudgedEvent, { verdict }: VerdictRow): boolean =>
  judged.verdict === 'unverified' && verdict !== 'unverified'

/** Whether a verdict says something else than the one before. */
const isNews = (one: JudgedEvent, held: VerdictRow): boolean =>
  !isWeaker(one, held) &&
  (one.judged.verdict !== held.verdict ||
    (one.judged.taken_back_ms ?? 0) !== held.taken_back_ms ||
    (one.judged.reason ?? '') !== held.reason ||
    (one.judged.transaction_id ?? '') !== held.transaction_id ||
    (one.judged.price?.currency ?? '') !== held.price_currency)

interface Choosing {
  ids: Iterable<string>
  /** Verdicts that may claim nothing: then they are chosen by themselves. */
  alone: readonly VerdictRow[]
  again: boolean
}

/** Gives back the charges that stores confirmed and that count without a refund, by the ids of their transactions. */
async function choose(
  clickhouse: ChooseDeps['clickhouse'],
  app_id: string,
  { ids, alone, again }: Choosing,
): Promise<Map<string, ChosenEvent>> {
  const events = new Map<string, ChosenEvent>()
  const charges = new Map<string, ChosenEvent>()
  const beaten: string[] = []
  for (const { id, claims, barred, is_closed, crowded } of await findClaims(clickhouse, app_id, ids)) {
    if (claims.some(isConfirmed)) beaten.push(...crowded)
    for (const claim of barred) events.set(placeOf(claim), { ...claim, choice: countsNothing })
    const chosen = [...chooseClaims(claims, is_closed)].map(([claim, choice]) => ({ ...claim, choice }))
    for (const one of chosen) events.set(placeOf(one), one)
    const confirmed = chosen.filter((one) => one.choice.money !== null && isConfirmed(one))
    const [charge] = confirmed
    if (charge !== undefined && !confirmed.some(({ event_name }) => isRefund(event_name))) charges.set(id, charge)
  }
  for (const row of alone) {
    if (row.has_money === 0 || claimedId(row) !== '') continue
    const claim = claimOf(row)
    const { currency, amount_micros } = row
    const choice = claim === null ? countsNothing : choiceOf(claim)
    events.set(placeOf(row), { ...row, stated: { amount_micros, currency }, choice })
  }
  await cancelCrowded(clickhouse, app_id, beaten)
  await writeChoices(clickhouse, app_id, [...events.values()], again)
  return charges
}

/** How long it waits for the lock: whoever waits longer would hold up other apps. */
const wait_ms = 5000

/**
 * How many locks a pool holds at once: each has a connection, and the work under it needs another. Work of as many apps as there are
 * connections would wait for itself.
 */
const locksOf = new WeakMap<Pool, Semaphore>()

function locksIn(pool: Pool): Semaphore {
  const locks = locksOf.get(pool) ?? new Semaphore(Math.max(1, Math.floor(pool.options.max / 2)))
  locksOf.set(pool, locks)
  return locks
}

/** Runs work while nobody else chooses for the app. Rejects when somebody does for long. */
async function underLock<T>({ postgres }: ChooseDeps, app_id: string, work: () => Promise<T>): Promise<T> {
  const done = await locksIn(postgres).runExclusive(() =>
    afterRunning(postgres, `receipts/${app_id}`, wait_ms, async (_lost, held) => {
      const result = await work()
      await held()
      return result
    }),
  )
  if (done === null) throw new Error('Another process chooses money of this app.')
  return done.result
}
