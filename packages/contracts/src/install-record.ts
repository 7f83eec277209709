import { z } from 'zod'
import { Candidate, Verdict, Windows } from './attribution/verdict.ts'
import { allReceiptReasons, receiptVerdicts } from './receipt/judged-receipt.ts'
import { stores } from './receipt/receipt.ts'

/** A receipt of an event of the install, or an event that a store sent. Ids are those that the store names. */
const InstallReceipt = z.object({
  store: z.enum(stores).nullable().describe('Null where the receipt names none.'),
  product_id: z.string().nullable(),
  transaction_id: z.string().nullable(),
  verdict: z.enum(receiptVerdicts).describe('The newest one.'),
  reason: z.enum(allReceiptReasons).nullable().describe('Why; null where there is nothing to add.'),
  price_source: z
    .enum(['store', 'event'])
    .nullable()
    .describe('Who named the amount that counts; null where none does.'),
  judged_at_ms: z.number().int().describe('When it got this verdict, Unix epoch ms.'),
})
export type InstallReceipt = z.infer<typeof InstallReceipt>

/** What is known of an install and why. Absent values are null; times are Unix epoch ms (docs/rules.md#install-record). */
export const InstallRecord = z.object({
  app_id: z.string(),
  install_uuid: z.string(),
  installed_at_ms: z.number().int().nullable().describe('Unix epoch ms; null while there is no install event.'),
  verdict: Verdict.extend({
    deep_link: z.string().nullable().describe('Of the link of the click; null where it has none.'),
  })
    .nullable()
    .describe('Where it came from; null while it is not decided or waits for a click.'),
  rule_version: z.number().int().nullable().describe('Version of the rules that decided.'),
  windows: Windows.nullable().describe('The windows that decided.'),
  candidates: z.array(Candidate).describe('Clicks that might have brought it, best first, each with why it lost.'),
  pending: z
    .boolean()
    .describe('True: a click that Tributary signed has not arrived. It is waited for up to 24 hours.'),
  history: z
    .array(Verdict.extend({ decided_at_ms: z.number().int().describe('When it became the verdict, Unix epoch ms.') }))
    .describe('Earlier verdicts, oldest first.'),
  identities: z
    .array(z.object({ user_id: z.string(), since_ms: z.number().int() }))
    .describe('User ids of the install, ordered by `since_ms`, the time of the first event with the user id.'),
  identities_cut: z.literal(true).optional().describe('There are more user ids, which are left out; absent otherwise.'),
  receipts: z.array(InstallReceipt).describe('Receipts of its events that were judged, in the order of event times.'),
  receipts_cut: z
    .literal(true)
    .optional()
    .describe('There are earlier receipts, which are left out; absent otherwise.'),
})
export type InstallRecord = z.infer<typeof InstallRecord>

const installed_at_ms = Date.UTC(2026, 5, 1)
const [won, lost] = ['01970000-0000-7000-8000-0000000000a1', '01970000-0000-7000-8000-0000000000b2']
/** The install of the examples. */
export const exampleInstall: InstallRecord = {
  app_id: 'app_1',
  install_uuid: '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3',
  installed_at_ms,
  verdict: {
    partner: 'adnet',
    attribution_type: 'install_referrer',
    campaign: 'spring',
    link_id: 'lnk_1',
    click_id: won,
    ext_click_id: 'p-77',
    ...{ sub1: 'banner', sub2: null, sub3: null, sub4: null, sub5: null },
    reinstall: false,
    fraud_flags: ['fast_install'],
    deep_link: null,
  },
  rule_version: 1,
  windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
  candidates: [
    {
      ...{ click_id: won, partner: 'adnet', method: 'install_referrer', clicked_at_ms: installed_at_ms - 8_000 },
      ...{ outcome: 'won', reason: null },
    },
    {
      ...{ click_id: lost, partner: 'bignet', method: 'device_id', clicked_at_ms: installed_at_ms - 3_600_000 },
      ...{ outcome: 'lost', reason: 'weaker_method' },
    },
  ],
  pending: false,
  history: [],
  identities: [{ user_id: 'user-17', since_ms: installed_at_ms + 60_000 }],
  receipts: [
    {
      ...{ store: 'google', product_id: 'pro.monthly', transaction_id: 'GPA.3345-2190-7712-55103', verdict: 'valid' },
      ...{ reason: null, price_source: 'event', judged_at_ms: installed_at_ms + 180_000 },
    },
  ],
}
