/** The row of each report (docs/rules.md#report-rows). Made by `npm run dump`: do not edit. */
export interface ReportRows {
  attribution: {
    /** Day of the install, UTC. */
    day: string
    /** `organic` without a click. */
    partner: string
    /** The method that matched the click, or `organic`. */
    attribution_type: string
    /** New installs, organic and flagged ones included, reinstalls left out. */
    installs: number
    /** Those of `installs` that no click brought. */
    organic: number
    /** Installs of a device or user that had an install before. Not in `installs`. */
    reinstalls: number
    /** Those of `installs` with a fraud flag. */
    fraud_flagged: number
  }
  revenue: {
    /** Day of the money events, UTC. */
    day: string
    /** Partner of the newest verdict of the install; `organic` without one. */
    partner: string
    /** Events whose money counts, refunds left out. */
    purchases: number
    /** Counted money, refunds subtracted, at the exchange rate of its day. */
    revenue_usd: number
    /** `revenue_usd` by the installs with a purchase above 0 that has an exchange rate; 0 without any. */
    arppu_usd: number
  }
  cohorts: {
    /** Day of the install, UTC. */
    day: string
    /** New installs, reinstalls left out. */
    installs: number
    /** Those of `installs` with an event in the 24 hours that begin 1 x 24 hours after the install. */
    d1: number
    /** Those of `installs` with an event in the 24 hours that begin 7 x 24 hours after the install. */
    d7: number
    /** Those of `installs` with an event in the 24 hours that begin 30 x 24 hours after the install. */
    d30: number
    /** `d1` by `installs`, 0 to 1, rounded to 4 places. */
    d1_rate: number
    /** `d7` by `installs`, 0 to 1, rounded to 4 places. */
    d7_rate: number
    /** `d30` by `installs`, 0 to 1, rounded to 4 places. */
    d30_rate: number
    /** Those of `installs` with an event in the 24 hours that begin N x 24 hours after the install. */
    [field: `d${number}`]: number
    /** `dN` by `installs`, 0 to 1, rounded to 4 places. */
    [field: `d${number}_rate`]: number
  }
  events: {
    /** UTC. */
    day: string
    event_name: string
    /** Accepted events, duplicates left out. */
    events: number
    /** Different installs among them. */
    unique_installs: number
    /** Counted money, refunds subtracted, at the exchange rate of its day; 0 without any. */
    revenue_usd: number
  }
  ltv: {
    /** Day of the install, UTC. */
    day: string
    /** Partner of the newest verdict of the install. */
    partner: string
    /** New installs, reinstalls left out. */
    installs: number
    /** Their counted money from the time of the install on, refunds subtracted, at the exchange rate of its day. */
    revenue_usd: number
    /** Counted money from the time of the install to the end of the 24 hours that begin N x 24 hours after the install. */
    [field: `d${number}_revenue_usd`]: number
    /** `dN_revenue_usd` by `installs`. */
    [field: `d${number}_arpi_usd`]: number
  }
  costs: {
    /** Day of the cost, UTC. */
    day: string
    partner: string
    /** Empty where the cost names none. */
    campaign: string
    /** Empty where the cost names none. */
    ad_group: string
    /** ISO 3166-1 alpha-2; empty where the cost names none. */
    country: string
    /** Money as it was uploaded, in `currency`. */
    cost: number
    /** ISO 4217. */
    currency: string
    /** `cost` at the exchange rate of its day, rounded to 4 places; 0 without a rate. */
    cost_usd: number
    /** As the partner counts them; null where no upload says. */
    clicks: number | null
    /** As the partner counts them; null where no upload says. */
    impressions: number | null
    /** When the service received the upload that counts, Unix epoch ms; the newest of the period. */
    uploaded_at_ms: number
  }
  performance: {
    /** Day of the installs, clicks and costs, UTC. Absent with `group=none`. */
    day?: string | undefined
    /** `organic` without a click. Absent unless `by` names it. */
    partner?: string | undefined
    /** Empty where there is none; `*` on costs that name none. Absent unless `by` names it. */
    campaign?: string | undefined
    /** Empty where there is none; `*` on costs that name none. Absent unless `by` names it. */
    ad_group?: string | undefined
    /** Empty where there is none. Absent unless `by` names it. */
    creative?: string | undefined
    /** Tracking link; empty where there is none. Absent unless `by` names it. */
    link_id?: string | undefined
    /** `sub1` of the click; empty where there is none. Absent unless `by` names it. */
    sub1?: string | undefined
    /** `sub2` of the click; empty where there is none. Absent unless `by` names it. */
    sub2?: string | undefined
    /** `sub3` of the click; empty where there is none. Absent unless `by` names it. */
    sub3?: string | undefined
    /** `sub4` of the click; empty where there is none. Absent unless `by` names it. */
    sub4?: string | undefined
    /** `sub5` of the click; empty where there is none. Absent unless `by` names it. */
    sub5?: string | undefined
    /** ISO 3166-1 alpha-2; empty where it is unknown; `*` on costs that name none. Absent unless `by` names it. */
    country?: string | undefined
    /** The method that matched the click, or `organic`. Absent unless `by` names it. */
    attribution_type?: string | undefined
    /** Clicks that were not filtered. Null in rows by `sub1` to `sub5` or `attribution_type`, and under a filter by `attribution_type`. */
    clicks: number | null
    /** New installs, organic and flagged ones included, reinstalls left out. */
    installs: number
    /** Installs of a device or user that had an install before. Not in `installs`. */
    reinstalls: number
    /** Those of `installs` with a fraud flag. */
    fraud_flagged: number
    /** Money events of `installs` since their install that count, refunds left out. */
    purchases: number
    /** Those of `installs` with a purchase above 0 that has an exchange rate. */
    payers: number
    /** Counted money of `installs` since their install, refunds subtracted, at the exchange rate of its day. */
    revenue_usd: number
    /** Uploaded costs at the exchange rate of their day, rounded to 4 places. Null where none was uploaded, and by or under a filter by what costs never name. */
    cost_usd: number | null
    /** `cost_usd` by `installs`; null where there are none. */
    cpi_usd: number | null
    /** `revenue_usd` by `cost_usd`, rounded to 4 places; null where `cost_usd` is 0 or null. */
    roas: number | null
    /** Those of `installs` with an event in the 24 hours that begin N x 24 hours after the install. */
    [field: `d${number}_retained`]: number
    /** `dN_retained` by `installs`, 0 to 1, rounded to 4 places; 0 without any. */
    [field: `d${number}_rate`]: number
    /** Counted money from the time of the install to the end of the 24 hours that begin N x 24 hours after the install. */
    [field: `d${number}_revenue_usd`]: number
    /** `dN_revenue_usd` by `cost_usd`, rounded to 4 places; null where `cost_usd` is 0 or null. */
    [field: `d${number}_roas`]: number | null
  }
  receipts: {
    /** Day of the events, UTC. */
    day: string
    /** Null where the receipt names none. */
    store: 'apple' | 'google' | null
    /** The newest one. */
    verdict: 'valid' | 'invalid' | 'sandbox' | 'unverified'
    /** Why; null where there is nothing to add. `reused`: the transaction counts for another install. */
    reason:
      | 'refunded'
      | 'revoked'
      | 'reused'
      | 'malformed'
      | 'receipt_too_large'
      | 'bad_signature'
      | 'untrusted_chain'
      | 'expired_certificate'
      | 'wrong_bundle'
      | 'wrong_product'
      | 'wrong_transaction'
      | 'wrong_environment'
      | 'not_found'
      | 'pending_purchase'
      | 'no_credentials'
      | 'store_away'
      | null
    /** Events with a receipt, and events that a store sent. */
    events: number
    /** Money that the events state, refunds subtracted, at the exchange rate of its day. */
    revenue_told_usd: number
    /** Money of these events that other reports count, refunds subtracted, at the exchange rate of its day. */
    revenue_counted_usd: number
  }
  skan: {
    /** Day on which the postback was received, UTC. */
    day: string
    protocol: 'skan' | 'aak'
    /** Ad network id. */
    network: string
    /** Source identifier, or the campaign id of versions before 4.0. */
    source: string
    /** Number of the postback of its install; 0 is the first. */
    sequence_index: 0 | 1 | 2
    /** Counted are winning postbacks that a production key signed: the first one of each network, id and sequence index, lost ads left out. */
    postbacks: number
    /** Those of `postbacks` with sequence index 0 that tell of a new install. */
    installs: number
    /** The same for an app that the person had before. */
    redownloads: number
    /** Those of `postbacks` without any conversion value: Apple sent none. */
    cv_null: number
    /** Those of `postbacks` with a fine conversion value, by value. A value that did not come is left out. */
    fine: Record<string, number>
    /** Those of `postbacks` with this coarse conversion value. */
    coarse_low: number
    /** Those of `postbacks` with this coarse conversion value. */
    coarse_medium: number
    /** Those of `postbacks` with this coarse conversion value. */
    coarse_high: number
    /** The least revenue that the decoded values stand for. */
    revenue_min_usd: number
    /** The same, the most. An open highest band adds its minimum. */
    revenue_max_usd: number
    /** Ids that no valid postback has, each once. They are in no other field. */
    unverified: number
    /** Version of the conversion value schema that decodes `postbacks`; null for none, or for several. */
    schema_version: number | null
    /** Whether another version was published while the installs may have happened. */
    schema_ambiguous: boolean
  }
}
