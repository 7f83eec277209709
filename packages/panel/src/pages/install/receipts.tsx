import type { Output } from '../../api/call.ts'
import { time } from '../../api/numbers.ts'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Part } from '../../parts/figure/part.tsx'
import { ReceiptWords, verdictKinds } from '../../parts/receipt-words.tsx'
import { texts } from './texts.ts'

type Install = Output<'getAppInstall'>
type Receipt = Install['receipts'][number]

/** What the stores say of the receipts of an install. */
export const Receipts = ({ receipts, cut }: { receipts: readonly Receipt[]; cut: boolean }) => (
  <Part title={texts.receipts} help={cut ? `${texts.receiptsHelp} ${texts.receiptsCut}` : texts.receiptsHelp}>
    <DataTable
      label={texts.receipts}
      columns={columns}
      items={receipts}
      idOf={(_, index) => String(index)}
      empty={texts.noReceipts}
    />
    <ReceiptWords judged={receipts} />
  </Part>
)

const columns: DataColumn<Receipt>[] = [
  {
    ...{ id: 'judged', name: texts.judged, width: 220, value: ({ judged_at_ms }: Receipt) => judged_at_ms },
    write: time as never,
  },
  {
    ...{ id: 'verdict', name: texts.receiptVerdict, value: ({ verdict }: Receipt) => verdict },
    cell: ({ verdict }) => <span className={`pill ${verdictKinds[verdict]}`}>{verdict}</span>,
  },
  { id: 'reason', name: texts.reason, value: ({ reason }) => reason?.replaceAll('_', ' ') ?? null },
  { id: 'store', name: texts.store, value: ({ store }) => store },
  { id: 'product', name: texts.product, value: ({ product_id }) => product_id },
  { id: 'transaction', name: texts.transaction, value: ({ transaction_id }) => transaction_id },
  { id: 'price', name: texts.price, value: priceOf },
]

function priceOf({ price_source, verdict }: Receipt): string {
  if (price_source === 'event' && verdict === 'unverified') return texts.unlessValidOnly
  return texts.prices[price_source ?? 'none']
}
