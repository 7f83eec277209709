import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { claimRanks } from '@tributary/contracts/rows'
import { noTransaction } from '@tributary/domain/event-key'
import { bestClaims, type TransactionClaim, transactionOf } from '@tributary/domain/money/claims'
import { findTransactionClaims } from '@tributary/tables/money/transaction-keys'
import type { ErasedClaim } from './batch.ts'
import type { MoneyRow } from './find-expired.ts'

/**
 * The claims of events to erase. A transaction whose best claim is among them, swept or not, is closed: nobody inherits its
 * money. Another claim leaves things as they are (docs/decisions/erasure.md#erased-claims-stay).
 */
export async function findErasedClaims(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  events: readonly MoneyRow[],
): Promise<{ claims: ErasedClaim[]; closed: string[] }> {
  const claiming = events.filter(
    ({ has_money, transaction_key }) => has_money === 1 && transaction_key !== noTransaction,
  )
  const own = new Map(claiming.map((event) => [claimName(event), event]))
  const known = await findTransactionClaims(
    clickhouse as Clickhouse,
    claiming.map(({ transaction_key }) => ({ app_id, transaction_key })),
  )
  const claims = [...own.values()].map(toClaim)
  // A table of keys that was put back may lack them.
  const best = bestClaims([...known, ...claims.map((claim): TransactionClaim => ({ ...claim, app_id }))])
  const closed = [...new Set(claims.map(({ transaction_key }) => transaction_key))].filter((transaction_key) =>
    own.has(claimName(best.get(transactionOf({ app_id, transaction_key }))!)),
  )
  return { claims: [...claims, ...closed.map(closing)], closed }
}

type Named = Pick<ErasedClaim, 'transaction_key' | 'topic' | 'partition' | 'offset' | 'claim_rank'>
const claimName = ({ transaction_key, topic, partition, offset, claim_rank }: Named): string =>
  `${transaction_key}/${topic}/${partition}/${offset}/${claim_rank}`

const toClaim = ({ transaction_key, day, received_at_ms, topic, partition, offset, claim_rank }: MoneyRow) => ({
  ...{ transaction_key, day, received_at_ms, topic, partition, offset, claim_rank },
})

/** The claim that beats all others, at no place of a log. Its day is that of no event. */
export const closing = (transaction_key: string): ErasedClaim => ({
  ...{ transaction_key, day: '1970-01-01', received_at_ms: 0, topic: '', partition: 0, offset: 0 },
  claim_rank: claimRanks.closed,
})
