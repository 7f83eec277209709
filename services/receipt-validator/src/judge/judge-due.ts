import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { JudgedPurchase } from '@tributary/contracts/receipt/judged-receipt'
import { type Store, storeOf } from '@tributary/contracts/receipt/receipt'
import { newestTombstones } from '@tributary/domain/erasure/tombstones'
import { genuine, nothing } from '@tributary/domain/receipt/judgement'
import { refundEvent } from '@tributary/domain/receipt/refund-event'
import { utcDay } from '@tributary/domain/utc-day'
import type { ErasedRecords } from '@tributary/erasure/erased-records'
import { judgeMoney } from '@tributary/tables/receipts/choose-money'
import { endTries, findDueApps, type PutOff, type TakenReceipt, takeDue } from '@tributary/tables/receipts/due-receipts'
import { placeOf } from '@tributary/tables/receipts/event-places'
import { addPurchases, eraseFromPurchases } from '@tributary/tables/receipts/store-purchases'
import type { FxRates } from '@tributary/tenancy/fx-rates'
import { judgeReceipt } from '@tributary/tenancy/stores/judge-receipt'
import { Semaphore } from 'async-mutex'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { joinNotifications } from '../notification-joiner.ts'
import { publishStoreEvents } from '../publish-store-events.ts'
import type { AppStores, AppWithStores } from './app-stores.ts'
import { pauseAfter } from './pause-after.ts'

export interface JudgeDeps {
  broker: Pick<Broker, 'publish' | 'partitionCount'>
  clickhouse: Pick<Clickhouse, 'query' | 'command'>
  postgres: Pool
  stores: AppStores
  fxRates: FxRates
  erased?: ErasedRecords
  now(): number
  logger?: Logger | undefined
  onVerdict?(judged: JudgedPurchase): void
  /** Tests have it called before each step; throwing is the crash. */
  crash?(step: 'verdicts' | 'stored' | 'money' | 'refunds' | 'join' | 'publish' | 'remove' | 'ended'): void
}

/** Receipts of an app that are in hand at a time. A receipt may have 32 KiB. */
const taken_max = 200
/** Apps that are worked for at the same time. */
const apps_together = 8
/** Questions of an app under way at a time. */
const questions_together = 8
/** Pause after a look for what is due that found nothing. */
const look_pause_ms = 250

/**
 * Works off what is due until the signal fires, with any number of other processes. An app whose work fails, or whose backlog
 * is long, delays no other. Rejects when PostgreSQL is away; call it again.
 */
export async function judgeDue(deps: JudgeDeps, stop: AbortSignal): Promise<void> {
  const at_work = new Map<string, Promise<void>>()
  /** Until when an app is left alone, by `performance.now()`. */
  const paused_until = new Map<string, number>()
  /** When each app was begun last, in the order of all: those begun long ago come first. */
  const begun = new Map<string, number>()
  let count = 0
  try {
    while (!stop.aborted) {
      const due = await findDueApps(deps.postgres)
      for (const app_id of due.toSorted((a, b) => (begun.get(a) ?? 0) - (begun.get(b) ?? 0))) {
        if (at_work.size >= apps_together || stop.aborted) break
        if (at_work.has(app_id) || (paused_until.get(app_id) ?? 0) > performance.now()) continue
        count += 1
        begun.set(app_id, count)
        const work = judgeApp(deps, app_id)
          .then(
            (taken) => {
              paused_until.delete(app_id)
              // What is left of an app waits for a verdict: others come first.
              if (taken === 0) paused_until.set(app_id, performance.now() + resting_pause_ms)
            },
            (err: unknown) => {
              paused_until.set(app_id, performance.now() + failed_pause_ms)
              deps.logger?.error({ err, app_id }, 'receipts of an app could not be judged: they are tried again')
            },
          )
          .finally(() => at_work.delete(app_id))
        at_work.set(app_id, work)
      }
      await Promise.race([pause(look_pause_ms), ...at_work.values()])
    }
  } finally {
    await Promise.allSettled(at_work.values())
  }
}

/** An app all of whose receipts wait for a store that rests is looked at so often: each look reads them. */
const resting_pause_ms = 2000
/** An app whose work failed is left alone for so long. */
const failed_pause_ms = 1000

/**
 * Judges some receipts of an app, and gives back how many:
 * 1. takes them under a lease. A crash now: they are due again when it ends
 * 2. judges them, and asks the stores where it must
 * 3. stores the verdicts, and lets the money follow. A crash now: the same is done again
 * 4. puts on the log what the stores took back, and the notifications that waited for these purchases. A crash now: they come again, and
 *    are duplicates
 * 5. ends the tries
 */
export async function judgeApp(deps: JudgeDeps, app_id: string): Promise<number> {
  const { postgres, stores, crash } = deps
  const app = await stores.of(app_id)
  const taken = await takeDue(postgres, { app_id, max: taken_max, resting: [...app.resting.keys()] })
  if (taken.length === 0) return 0
  const questions = new Semaphore(questions_together)
  const judged = await Promise.all(
    taken.map((one) => (one.asks === null ? judge(app, one) : questions.runExclusive(() => judge(app, one)))),
  )
  await priceAll(deps, taken, judged)
  const standing = await judgeMoney(
    deps,
    app_id,
    taken.map((place, n) => ({ place, judged: judged[n]! })),
    { again: taken.some(({ broken_off }) => broken_off), ...(crash && { crash }) },
  )
  for (const one of judged) deps.onVerdict?.(one)
  crash?.('refunds')
  const tombstones = await newestTombstones(deps.erased)
  const { company_id, platform } = app
  const isGone = ({ install_uuid, dated_at_ms }: Pick<TakenReceipt, 'install_uuid' | 'dated_at_ms'>) =>
    dated_at_ms <= (tombstones.markOf(app_id, install_uuid) ?? -1)
  const refunds = taken.flatMap((one, n) => {
    const charge = standing.get(placeOf(one))?.charge ?? null
    const event = refundEvent(judged[n]!, one.event_name, charge?.choice.money ?? null)
    if (charge === null || event === null || isGone(charge)) return []
    return [{ company_id, app_id, platform, install_uuid: charge.install_uuid, audit_key: '', event }]
  })
  // Many events may have one receipt.
  await publishStoreEvents(deps, [...new Map(refunds.map((one) => [one.event.event_id, one])).values()])
  const purchases = taken.flatMap((one, n) => {
    const { verdict, original_id } = judged[n]!
    if (verdict !== 'valid' || original_id === null || !standing.has(placeOf(one)) || isGone(one)) return []
    const { install_uuid, dated_at_ms } = one
    return { app_id, original_id, install_uuid, dated_at_ms }
  })
  await addPurchases(postgres, purchases)
  // An erasure that ended since has not seen them.
  const newest = await newestTombstones(deps.erased)
  const erased = purchases.flatMap(({ install_uuid }) => {
    const mark_ms = newest.markOf(app_id, install_uuid)
    return mark_ms === null ? [] : { install_uuid, mark_ms }
  })
  if (erased.length > 0) await eraseFromPurchases(postgres, app_id, erased)
  await joinNotifications(deps, purchases)
  crash?.('ended')
  const put_off: PutOff[] = []
  const ended: TakenReceipt[] = []
  const resting = stores.resting(app_id)
  taken.forEach((one, n) => {
    const pause_ms = pauseAfter(one, judged[n]!, resting)
    if (pause_ms === null) ended.push(one)
    else put_off.push({ taken: one, pause_ms, reason: judged[n]!.reason })
  })
  await endTries(postgres, { judged: ended, put_off })
  return taken.length
}

async function judge(app: AppWithStores, taken: TakenReceipt): Promise<JudgedPurchase> {
  const { product_id, transaction_id, receipt } = taken
  const store = storeOf(app.platform)
  if (receipt === undefined) return saidByStore(store, taken)
  return judgeReceipt(receipt, { bundle_id: app.bundle_id, store, product_id, transaction_id }, app.stores)
}

/** The verdict on an event that a store sent itself. */
const saidByStore = (store: Store, { product_id, transaction_id }: TakenReceipt): JudgedPurchase =>
  genuine(store, 'valid', { ...nothing, product_id, transaction_id, environment: 'Production' })

/**
 * Takes prices away whose currency has no rate on the day of the purchase: what the event says counts then. USD needs no rate. The day of the
 * event is the word of the app, and stands in only where the store names none.
 */
async function priceAll(
  { fxRates }: JudgeDeps,
  taken: readonly TakenReceipt[],
  judged: JudgedPurchase[],
): Promise<void> {
  const foreign = taken.flatMap(({ day }, n) => {
    const { price, purchased_ms } = judged[n]!
    const currency = price?.currency ?? 'USD'
    return currency === 'USD' ? [] : [{ n, day: purchased_ms === null ? day : utcDay(purchased_ms), currency }]
  })
  if (foreign.length === 0) return
  const rateOf = await fxRates.find(foreign)
  for (const { n, ...lookup } of foreign) if (rateOf(lookup) === null) judged[n] = { ...judged[n]!, price: null }
}
