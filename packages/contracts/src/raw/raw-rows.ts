import { z } from 'zod'

const text = z.string()
const ms = z.number().int()
const stored_at_ms = ms.describe(
  'When it counts as stored, Unix epoch ms. 0: stored by a version that had no such time.',
)
const address = 'Empty once retention has blanked it.'
const country = 'ISO 3166-1 alpha-2 of the sender, empty when unknown.'

/** A row of raw events: an accepted event, once. */
export const RawEvent = z.object({
  stored_at_ms,
  app_id: text,
  company_id: text,
  day: text.describe('UTC date of `ts_ms`.'),
  install_uuid: text,
  ts_ms: ms.describe('Time of the event, Unix epoch ms.'),
  correction_ms: ms.describe('What the age of the event adds to `ts_ms`: the error of the clock of an app.'),
  event_name: text,
  event_id: text.describe('As it was sent: a second event with it is dropped.'),
  user_id: text.describe('Empty when absent.'),
  revenue_micros: ms.nullable().describe('Millionths of `currency`, refunds negative; null without revenue.'),
  revenue_counts: ms.describe('1: its money counts. 0: no money, or its transaction was counted before.'),
  currency: text.describe('ISO 4217, empty without revenue.'),
  transaction_id: text.describe('Empty when absent.'),
  product_id: text.describe('Empty when absent.'),
  props: text.describe('JSON object.'),
  device: text.describe('JSON object.'),
  extra: text.describe('JSON object of all other fields.'),
  platform: text.describe('`ios` or `android`.'),
  source: text.describe('`sdk`, `s2s` or `bulk`.'),
  sdk: text.describe('`X-Service-Sdk`, empty when absent.'),
  sdk_platform: text.describe('`X-Service-Platform`, empty when absent.'),
  country: text.describe(country),
  ip: text.describe(address),
  user_agent: text.describe(address),
  received_at_ms: ms.describe('When the gateway received it, Unix epoch ms.'),
  sent_at_ms: ms.describe('Clock of the sender when it was sent, Unix epoch ms; 0 when absent.'),
})

const sub = text.describe('Of the query of the click, empty when absent.')

/** A row of raw clicks: a click on a tracking link, or a hit of a honeypot. */
export const RawClick = z.object({
  stored_at_ms,
  app_id: text,
  click_id: text.describe('Of Tributary, a UUIDv7.'),
  day: text.describe('UTC date of `clicked_at_ms`.'),
  clicked_at_ms: ms.describe('When the gateway received it, Unix epoch ms.'),
  link_id: text,
  partner: text,
  campaign: text.describe('Empty when absent.'),
  ad_group: text.describe('Empty when absent.'),
  creative: text.describe('Empty when absent.'),
  ext_click_id: text.describe("The partner's `click_id`, empty when absent."),
  sub1: sub,
  sub2: sub,
  sub3: sub,
  sub4: sub,
  sub5: sub,
  lookback_hours: ms.describe('Window of the link in hours, 0 where that of the app holds.'),
  filtered_reason: text.describe('Why it attributes nothing, empty where it may.'),
  country: text.describe(country),
  ip: text.describe(address),
  user_agent: text.describe(address),
})

/** A row of raw installs: a verdict at the moment at which it was decided. */
export const RawInstall = z.object({
  stored_at_ms,
  stored_index: ms.describe('Order of rows with the same `stored_at_ms`. The last row of an install by both counts.'),
  app_id: text,
  install_uuid: text,
  day: text.describe('UTC date of `installed_at_ms`.'),
  installed_at_ms: ms.describe('Time of the install, Unix epoch ms.'),
  received_at_ms: ms.describe('When the gateway received the install event, Unix epoch ms.'),
  decided_at_ms: ms.describe('When it was decided, Unix epoch ms.'),
  pending: ms.describe('1: it waits for a click that Tributary signed, and has no verdict yet.'),
  partner: text.describe('`organic` without a click; empty while it waits.'),
  attribution_type: text.describe('How the click was matched, or `organic`; empty while it waits.'),
  campaign: text.describe('Empty when absent.'),
  ad_group: text.describe('Empty when absent.'),
  creative: text.describe('Empty when absent.'),
  sub1: sub,
  sub2: sub,
  sub3: sub,
  sub4: sub,
  sub5: sub,
  country: text.describe(country),
  link_id: text.describe('Empty when absent.'),
  click_id: text.describe('The click that brought it, empty when none did.'),
  clicked_at_ms: ms.describe('Time of that click, Unix epoch ms; 0 without one.'),
  reinstall: ms.describe('1: the same device or user within the window of reinstalls.'),
  fraud_flags: z.array(text).describe('Names of the fraud flags.'),
  rule_version: ms.describe('Version of the rules that decided.'),
})

/** A row of raw receipts: what a store said of the receipt of an event, or of an event that it sent itself. */
export const RawReceipt = z.object({
  stored_at_ms,
  app_id: text,
  install_uuid: text,
  day: text.describe('UTC date of `ts_ms`.'),
  ts_ms: ms.describe('Time of the event, Unix epoch ms.'),
  received_at_ms: ms.describe('When the gateway received the event, Unix epoch ms.'),
  event_name: text,
  event_id: text.describe('Of the event. Empty where a version that did not keep it stored the verdict.'),
  source: text.describe('Who sent the event: `sdk`, `s2s`, `bulk` or `store`.'),
  store: text.describe('`apple` or `google`, empty when unknown.'),
  verdict: text.describe('`valid`, `invalid`, `sandbox` or `unverified`.'),
  reason: text.describe(
    'Why, empty when there is nothing to add. Never `reused`, which follows from other claims on the transaction.',
  ),
  product_id: text.describe('As the store names it, empty when unknown.'),
  transaction_id: text.describe('As the store names it, empty when unknown.'),
  original_id: text.describe(
    'What all transactions of one purchase have in common: of Apple an id, of Google the SHA-256 of the purchase token. Empty when unknown.',
  ),
  price_source: text.describe(
    'Who names the amount that counts if the event does: `store` or `event`; empty where no money can count.',
  ),
  price_micros: ms
    .nullable()
    .describe('What the store was paid, millionths of `price_currency`; null where it names no price with a rate.'),
  price_currency: text.describe('ISO 4217, empty without `price_micros`.'),
  revenue_micros: ms
    .nullable()
    .describe('What the event states, millionths of `currency`, refunds negative; null without revenue.'),
  currency: text.describe('ISO 4217, empty without revenue.'),
  taken_back_ms: ms.describe('When the store took the purchase back, Unix epoch ms; 0 when it did not.'),
  judged_at_ms: ms.describe('When it was judged, Unix epoch ms.'),
})

/** A row of raw erasures: an install or a click whose rows are gone. */
export const RawErasure = z.object({
  stored_at_ms: ms.describe('When its rows were gone, Unix epoch ms.'),
  app_id: text,
  install_uuid: text.describe('Empty for a click.'),
  click_id: text.describe('Empty for an install.'),
  erased_up_to_ms: ms.describe('Drop what was received or is dated up to then, Unix epoch ms; of a click drop all.'),
})
