import { topics } from '@tributary/contracts/topics'
import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { openAsk } from '@tributary/stores/ask'
import { dropAbandonedVerdicts } from '@tributary/tables/raw/verdict-stamps'
import { findDueApps } from '@tributary/tables/receipts/due-receipts'
import { removeOldAnswers } from '@tributary/tables/receipts/store-answers'
import { removeOldWaiting } from '@tributary/tables/receipts/store-purchases'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { appleRootsOf } from '@tributary/tenancy/stores/apple-roots-setting'
import { lateClaimsJoiner } from './join-late-claims.ts'
import type { JudgeDeps } from './judge/judge-due.ts'
import { verdictsTotal, watchDueReceipts } from './metrics.ts'
import { notificationJoiner } from './notification-joiner.ts'
import { receiptFinder } from './receipt-finder.ts'

/** After a failure of PostgreSQL it goes on after this pause. */
const judge_pause_ms = 1000
/** A claim that joins a confirmed one counts beside it for so long at most. */
const join_pause_ms = 30_000
const old_rows_pause_ms = 600_000

/** Judges the receipts of events, and lets the money follow. */
export const service = defineService({
  name: 'receipt-validator',
  resources: {
    broker: kafkaEngine({ topics: [topics.eventsAccepted] }),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
  },
  settings: [
    ...(['TRIBUTARY_APPLE_ROOTS_FILE', 'TRIBUTARY_APPLE_API_URL'] as const),
    ...(['TRIBUTARY_GOOGLE_API_URL', 'TRIBUTARY_GOOGLE_TOKEN_URL'] as const),
  ],
  consumers: [receiptFinder, notificationJoiner],
  jobs: [
    {
      name: 'receipts',
      pause_ms: judge_pause_ms,
      prepare({ config, registry, ...context }) {
        const { postgres, elapsed, onClose } = context
        watchDueReceipts(registry, postgres)
        const verdicts = verdictsTotal(registry)
        const roots = appleRootsOf(config.TRIBUTARY_APPLE_ROOTS_FILE, context.logger)
        const { ask, close } = openAsk()
        onClose('stores', close)
        const urls = {
          apple: config.TRIBUTARY_APPLE_API_URL,
          ...{ google: config.TRIBUTARY_GOOGLE_API_URL, google_token: config.TRIBUTARY_GOOGLE_TOKEN_URL },
        }
        const fxRates = openFxRates({ pool: postgres, now: elapsed })
        const onVerdict: JudgeDeps['onVerdict'] = ({ verdict, reason }) =>
          verdicts.inc({ verdict, reason: reason ?? '' })
        let work: ((stop: AbortSignal) => Promise<void>) | null = null
        return async (stop: AbortSignal) => {
          // Apple's library takes half a second to load: it is loaded once there is something to judge.
          if (work === null && (await findDueApps(postgres)).length === 0) return
          work ??= await prepare()
          await work(stop)
        }
        async function prepare() {
          const [{ verifyJws }, { readAppReceipt }, { createAppStores }, { judgeDue }] = await Promise.all([
            import('@tributary/stores/verify-jws'),
            import('@tributary/stores/app-receipt'),
            import('./judge/app-stores.ts'),
            import('./judge/judge-due.ts'),
          ])
          const proofs = { verify: verifyJws(roots), readAppReceipt: readAppReceipt(roots) }
          const stores = createAppStores({ ...context, ...proofs, ask, urls })
          return (stop: AbortSignal) => judgeDue({ ...context, stores, fxRates, onVerdict }, stop)
        }
      },
    },
    {
      name: 'late_claims',
      pause_ms: join_pause_ms,
      prepare(context) {
        const join = lateClaimsJoiner(context)
        return async () => void (await join())
      },
    },
    {
      name: 'old_store_rows',
      pause_ms: old_rows_pause_ms,
      prepare:
        ({ postgres }) =>
        async () => {
          await removeOldAnswers(postgres)
          await removeOldWaiting(postgres)
          await dropAbandonedVerdicts(postgres)
        },
    },
  ],
})
