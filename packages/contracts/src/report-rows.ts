import { z } from 'zod'
import { sequenceIndexes } from './postback/cv-schema.ts'
import { postbackProtocols } from './postback/received.ts'
import { allReceiptReasons, receiptVerdicts } from './receipt/judged-receipt.ts'
import { stores } from './receipt/receipt.ts'

const day = z.iso.date().describe('UTC.')
const count = z.number().int()

export const AttributionReportRow = z.object({
  day: z.iso.date().describe('Day of the install, UTC.'),
  partner: z.string().describe('`organic` without a click.'),
  attribution_type: z.string().describe('The method that matched the click, or `organic`.'),
  installs: count.describe('New installs, organic and flagged ones included, reinstalls left out.'),
  organic: count.describe('Those of `installs` that no click brought.'),
  reinstalls: count.describe('Installs of a device or user that had an install before. Not in `installs`.'),
  fraud_flagged: count.describe('Those of `installs` with a fraud flag.'),
})

export const RevenueReportRow = z.object({
  day: z.iso.date().describe('Day of the money events, UTC.'),
  partner: z.string().describe('Partner of the newest verdict of the install; `organic` without one.'),
  purchases: count.describe('Events whose money counts, refunds left out.'),
  revenue_usd: z.number().describe('Counted money, refunds subtracted, at the exchange rate of its day.'),
  arppu_usd: z
    .number()
    .describe('`revenue_usd` by the installs with a purchase above 0 that has an exchange rate; 0 without any.'),
})

/** Fields of a row that exist for each number of days since the install: `d7_rate` has the suffix `_rate`. */
export interface DayFields {
  /** Every answer has these days. */
  always: readonly number[]
  /** The further days of an answer whose request has no `days`. */
  default: readonly number[]
  /** The columns of a day stand together; otherwise those of a suffix do. */
  day_by_day?: true
  /** Schema of the field of a day, by its suffix, in the order of the columns. */
  fields: Readonly<Record<string, (n: number | 'N') => z.ZodType>>
}

/** JSON Schema of the fields of any day. */
const anyDay = ({ fields }: DayFields) => ({
  patternProperties: Object.fromEntries(
    Object.entries(fields).map(([suffix, schema]) => {
      const { $schema: _, ...of_field } = z.toJSONSchema(schema('N'))
      return [`^d[0-9]+${suffix}$`, of_field]
    }),
  ),
})

const after = (n: number | 'N') => `that begin ${n} x 24 hours after the install`
const retained = (n: number | 'N') => count.describe(`Those of \`installs\` with an event in the 24 hours ${after(n)}.`)
const rate = (n: number | 'N') => z.number().describe(`\`d${n}\` by \`installs\`, 0 to 1, rounded to 4 places.`)
export const cohortDays = { always: [1, 7, 30], default: [], fields: { '': retained, _rate: rate } } satisfies DayFields

export const CohortsReportRow = z
  .object({
    day: z.iso.date().describe('Day of the install, UTC.'),
    installs: count.describe('New installs, reinstalls left out.'),
    d1: retained(1),
    d7: retained(7),
    d30: retained(30),
    d1_rate: rate(1),
    d7_rate: rate(7),
    d30_rate: rate(30),
  })
  .meta(anyDay(cohortDays))

const earned = (n: number | 'N') =>
  z.number().describe(`Counted money from the time of the install to the end of the 24 hours ${after(n)}.`)
const perInstall = (n: number | 'N') => z.number().describe(`\`d${n}_revenue_usd\` by \`installs\`.`)
export const ltvDays = {
  always: [],
  default: [0, 7, 30],
  fields: { _revenue_usd: earned, _arpi_usd: perInstall },
} satisfies DayFields

export const LtvReportRow = z
  .object({
    day: z.iso.date().describe('Day of the install, UTC.'),
    partner: z.string().describe('Partner of the newest verdict of the install.'),
    installs: count.describe('New installs, reinstalls left out.'),
    revenue_usd: z
      .number()
      .describe(
        'Their counted money from the time of the install on, refunds subtracted, at the exchange rate of its day.',
      ),
  })
  .meta(anyDay(ltvDays))

const roas = (money: string) =>
  z
    .number()
    .nullable()
    .describe(`\`${money}\` by \`cost_usd\`, rounded to 4 places; null where \`cost_usd\` is 0 or null.`)
export const performanceDays = {
  always: [],
  default: [],
  day_by_day: true,
  fields: {
    _retained: retained,
    _rate: (n) =>
      z.number().describe(`\`d${n}_retained\` by \`installs\`, 0 to 1, rounded to 4 places; 0 without any.`),
    _revenue_usd: earned,
    _roas: (n) => roas(`d${n}_revenue_usd`),
  },
} satisfies DayFields

const figures = {
  clicks: count
    .nullable()
    .describe(
      'Clicks that were not filtered. Null in rows by `sub1` to `sub5` or `attribution_type`, and under a filter by `attribution_type`.',
    ),
  installs: count.describe('New installs, organic and flagged ones included, reinstalls left out.'),
  reinstalls: count.describe('Installs of a device or user that had an install before. Not in `installs`.'),
  fraud_flagged: count.describe('Those of `installs` with a fraud flag.'),
  purchases: count.describe('Money events of `installs` since their install that count, refunds left out.'),
  payers: count.describe('Those of `installs` with a purchase above 0 that has an exchange rate.'),
  revenue_usd: z
    .number()
    .describe('Counted money of `installs` since their install, refunds subtracted, at the exchange rate of its day.'),
  cost_usd: z
    .number()
    .nullable()
    .describe(
      'Uploaded costs at the exchange rate of their day, rounded to 4 places. Null where none was uploaded, and by or under a filter by what costs never name.',
    ),
  cpi_usd: z.number().nullable().describe('`cost_usd` by `installs`; null where there are none.'),
  roas: roas('revenue_usd'),
}

/** The figures of `meta.totals`. */
export const PerformanceTotals = z.object(figures).catchall(z.number().nullable())

const ofRows = (what: string) => z.string().optional().describe(`${what} Absent unless \`by\` names it.`)
const sub = (n: number) => ofRows(`\`sub${n}\` of the click; empty where there is none.`)

export const PerformanceReportRow = z
  .object({
    day: z.iso.date().optional().describe('Day of the installs, clicks and costs, UTC. Absent with `group=none`.'),
    partner: ofRows('`organic` without a click.'),
    campaign: ofRows('Empty where there is none; `*` on costs that name none.'),
    ad_group: ofRows('Empty where there is none; `*` on costs that name none.'),
    creative: ofRows('Empty where there is none.'),
    link_id: ofRows('Tracking link; empty where there is none.'),
    ...{ sub1: sub(1), sub2: sub(2), sub3: sub(3), sub4: sub(4), sub5: sub(5) },
    country: ofRows('ISO 3166-1 alpha-2; empty where it is unknown; `*` on costs that name none.'),
    attribution_type: ofRows('The method that matched the click, or `organic`.'),
    ...figures,
  })
  .meta(anyDay(performanceDays))

export const CostsReportRow = z.object({
  day: z.iso.date().describe('Day of the cost, UTC.'),
  partner: z.string(),
  campaign: z.string().describe('Empty where the cost names none.'),
  ad_group: z.string().describe('Empty where the cost names none.'),
  country: z.string().describe('ISO 3166-1 alpha-2; empty where the cost names none.'),
  cost: z.number().describe('Money as it was uploaded, in `currency`.'),
  currency: z.string().describe('ISO 4217.'),
  cost_usd: z.number().describe('`cost` at the exchange rate of its day, rounded to 4 places; 0 without a rate.'),
  clicks: count.nullable().describe('As the partner counts them; null where no upload says.'),
  impressions: count.nullable().describe('As the partner counts them; null where no upload says.'),
  uploaded_at_ms: count.describe(
    'When the service received the upload that counts, Unix epoch ms; the newest of the period.',
  ),
})

export const EventsReportRow = z.object({
  day,
  event_name: z.string(),
  events: count.describe('Accepted events, duplicates left out.'),
  unique_installs: count.describe('Different installs among them.'),
  revenue_usd: z
    .number()
    .describe('Counted money, refunds subtracted, at the exchange rate of its day; 0 without any.'),
})

export const ReceiptsReportRow = z.object({
  day: z.iso.date().describe('Day of the events, UTC.'),
  store: z.enum(stores).nullable().describe('Null where the receipt names none.'),
  verdict: z.enum(receiptVerdicts).describe('The newest one.'),
  reason: z
    .enum(allReceiptReasons)
    .nullable()
    .describe('Why; null where there is nothing to add. `reused`: the transaction counts for another install.'),
  events: count.describe('Events with a receipt, and events that a store sent.'),
  revenue_told_usd: z
    .number()
    .describe('Money that the events state, refunds subtracted, at the exchange rate of its day.'),
  revenue_counted_usd: z
    .number()
    .describe('Money of these events that other reports count, refunds subtracted, at the exchange rate of its day.'),
})

const counted =
  'Counted are winning postbacks that a production key signed: the first one of each network, id and sequence index'

export const SkanReportRow = z.object({
  day: z.iso.date().describe('Day on which the postback was received, UTC.'),
  protocol: z.enum(postbackProtocols),
  network: z.string().describe('Ad network id.'),
  source: z.string().describe('Source identifier, or the campaign id of versions before 4.0.'),
  sequence_index: z.literal(sequenceIndexes).describe('Number of the postback of its install; 0 is the first.'),
  postbacks: count.describe(`${counted}, lost ads left out.`),
  installs: count.describe('Those of `postbacks` with sequence index 0 that tell of a new install.'),
  redownloads: count.describe('The same for an app that the person had before.'),
  cv_null: count.describe('Those of `postbacks` without any conversion value: Apple sent none.'),
  fine: z
    .record(z.string(), count)
    .describe('Those of `postbacks` with a fine conversion value, by value. A value that did not come is left out.'),
  coarse_low: count.describe('Those of `postbacks` with this coarse conversion value.'),
  coarse_medium: count.describe('Those of `postbacks` with this coarse conversion value.'),
  coarse_high: count.describe('Those of `postbacks` with this coarse conversion value.'),
  revenue_min_usd: z.number().describe('The least revenue that the decoded values stand for.'),
  revenue_max_usd: z.number().describe('The same, the most. An open highest band adds its minimum.'),
  unverified: count.describe('Ids that no valid postback has, each once. They are in no other field.'),
  schema_version: z
    .number()
    .int()
    .nullable()
    .describe('Version of the conversion value schema that decodes `postbacks`; null for none, or for several.'),
  schema_ambiguous: z.boolean().describe('Whether another version was published while the installs may have happened.'),
})
