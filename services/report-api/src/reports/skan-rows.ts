import { limits } from '@tributary/contracts/limits'
import { claimKeySql } from '@tributary/contracts/postback/claim-key'
import type { StoreApps } from '@tributary/tenancy/postbacks/store-apps'
import type { ReportSources } from '../report.ts'
import type { WindowDays } from '../window-days.ts'

/** The item id of an app, and the window. */
export interface ItemWindow extends WindowDays {
  /** Digits of 64 bits. */
  item: string
}

/** The advertised items that the app showed ads for. */
const publishedSql = `SELECT DISTINCT advertised_item_id FROM postback_publishers_v1
      WHERE publisher_item_id = {item:UInt64} AND day >= {first_day:Date} AND day <= {last_day:Date}`

interface Owners {
  clickhouse: ReportSources['clickhouse']
  storeApps: Pick<StoreApps, 'findOwner' | 'ownedItems'>
}

/**
 * The published items that are apps here: postbacks that advertise them are not those of the app that showed the ad. Strangers
 * make up any number of items; of very many those are found that apps here have.
 */
export async function ownedItemsOf({ clickhouse, storeApps }: Owners, window: ItemWindow): Promise<string[]> {
  const find = (condition: string) =>
    clickhouse.query<{ item: string }>(
      `SELECT toString(advertised_item_id) AS item FROM (${publishedSql} ${condition})`,
      { ...window },
    )
  const published = await find(`LIMIT ${limits.report_published_items_max + 1}`)
  const owned: string[] = []
  if (published.length > limits.report_published_items_max) {
    const here = await storeApps.ownedItems()
    for (let from = 0; from < here.length; from += items_of_statement) {
      const found = await find(`AND advertised_item_id IN ${itemSet(here.slice(from, from + items_of_statement))}`)
      for (const { item } of found) owned.push(item)
    }
    return owned
  }
  for (let from = 0; from < published.length; from += owners_at_once) {
    const items = published.slice(from, from + owners_at_once).map(({ item }) => item)
    const owners = await Promise.all(items.map((item) => storeApps.findOwner(item)))
    owned.push(...items.filter((_, n) => owners[n] !== null))
  }
  return owned
}

/** Items whose owners are looked up at a time. All reports that run at once must fit into the line of look-ups. */
const owners_at_once = 500
/** Items that stand in one statement. */
const items_of_statement = 100_000

/** Digits only: they stand in the statement, since a server takes parameters of 128 KiB at most. */
const numbers = (values: Iterable<string | number>): string => [...values].map((value) => BigInt(value)).join(', ')

/** Items as one SQL literal. */
const itemSet = (items: readonly string[]): string => `CAST('[${numbers(items)}]', 'Array(UInt64)')`

/**
 * Rows of the app in the window. The engine looks the published items up itself: ten thousand of them in the statement cost four
 * times as much (docs/decisions/postbacks.md#all-items-that-an-app-showed-ads-for-count).
 */
const ofApp = (owned: readonly string[]): string => `advertised_item_id IN (
      SELECT {item:UInt64} UNION ALL
      SELECT advertised_item_id FROM (${publishedSql}) WHERE advertised_item_id NOT IN ${itemSet(owned)})
      AND (advertised_item_id = {item:UInt64} OR publisher_item_id = {item:UInt64})
      AND day >= {first_day:Date} AND day <= {last_day:Date}
      AND received_at_ms >= {since_ms:Int64} AND received_at_ms < {until_ms:Int64}`

/**
 * Claims of the window that an earlier one beats, from any time: postback-writer has marked them
 * (docs/decisions/postbacks.md#beaten-claims-are-marked). Those of the app alone are held in memory: what strangers resend of other apps
 * has no bound.
 */
const beaten = (owned: readonly string[]): string => `
    SELECT claim_key FROM postback_beaten_claims_v1
    WHERE day >= {first_day:Date} AND day <= {last_day:Date}
      AND claim_key IN (SELECT ${claimKeySql()} FROM postbacks_decoded_v1 WHERE ${ofApp(owned)} AND verdict = 'valid')`

/**
 * Settings of look-ups in `postback_claims_v1`, which is in the order of its keys: few keys are found by its index,
 * many are read through. The items of `ofApp` are looked up by the index however many they are.
 */
const byKey = 'SETTINGS use_index_for_in_with_subqueries_max_values = 10001'
const byItem = 'SETTINGS use_index_for_in_with_subqueries_max_values = 0'

/** Keys of the window that no signature proves here, but that one proves elsewhere. */
const provenElsewhere = (owned: readonly string[]): string => `
    SELECT postback_key FROM postback_claims_v1
    WHERE postback_key IN (SELECT postback_key FROM postbacks_decoded_v1 WHERE ${ofApp(owned)} AND verdict != 'valid' ${byItem})
    ${byKey}`

/** A group of the report on a day as one number: strangers may make up hundreds of thousands of them. */
const groupKey = 'cityHash64(day, protocol, network, source, sequence_index)'

/**
 * Groups of a day that have a row of their own: those with something proven, and those with the most postbacks of all others
 * (docs/rules.md#skan-report). What strangers make up must fill no page.
 */
const namedGroups = (owned: readonly string[]): string => `
    SELECT name FROM (
      SELECT day, ${groupKey} AS name, max(verdict = 'valid') AS has_proven, count() AS postbacks
      FROM postbacks_decoded_v1 FINAL
      WHERE ${ofApp(owned)}
      GROUP BY day, protocol, network, source, sequence_index
      ORDER BY day, postbacks DESC, protocol, network, source, sequence_index
      LIMIT ${limits.report_unproven_groups_max} BY day, if(has_proven, name, 0)
    )`

/** Winners that count, and what is not proven. */
const countedSql = (period: string, owned: readonly string[], starts: readonly number[]): string => `
  SELECT ${period} AS date, protocol, sequence_index, postback_key, verdict = 'valid' AS proven,
    ${groupKey} AS name, proven OR name IN (${namedGroups(owned)}) AS is_named,
    if(is_named, network, '') AS shown_network, if(is_named, source, '') AS shown_source,
    if(proven, version, '') AS said_version, if(proven, fine, NULL) AS said_fine, if(proven, coarse, NULL) AS said_coarse,
    if(proven, roundDown(received_at_ms, CAST([${numbers(starts)}], 'Array(Int64)')), 0) AS segment,
    proven AND sequence_index = 0 AND NOT re_engagement AS download, ifNull(redownload, 0) AS again
  FROM postbacks_decoded_v1 FINAL
  WHERE ${ofApp(owned)} AND if(verdict = 'valid',
    environment IN {environments:Array(String)} AND ifNull(did_win, 1) = 1 AND ${claimKeySql()} NOT IN (${beaten(owned)}),
    postback_key NOT IN (${provenElsewhere(owned)}))`

/**
 * Rows with their counts, and with their values by version of SKAN and segment of time (`segmentStarts`), by period of `day`.
 * Each row has `folded`: how many groups all pages fold.
 */
export const skanRowsSql = (
  period: string,
  owned: readonly string[],
  starts: readonly number[],
  allRows: string,
): string => `
SELECT toString(date) AS day, protocol, shown_network AS network, shown_source AS source, sequence_index,
  sum(counted) AS postbacks, sum(new) AS installs, sum(old) AS redownloads,
  sumIf(counted, said_fine IS NULL AND said_coarse IS NULL) AS cv_null,
  sumIf(counted, said_coarse = 'low') AS coarse_low, sumIf(counted, said_coarse = 'medium') AS coarse_medium,
  sumIf(counted, said_coarse = 'high') AS coarse_high, sum(unproven) AS unverified,
  groupArrayIf((said_version, segment, said_fine, said_coarse, counted), counted > 0) AS values,
  sum(sum(unnamed)) OVER () AS folded, ${allRows}
FROM (
  SELECT date, protocol, shown_network, shown_source, sequence_index, proven, said_version, segment, said_fine, said_coarse,
    countIf(proven) AS counted, countIf(download AND NOT again) AS new, countIf(download AND again) AS old,
    uniqExactIf(postback_key, NOT proven) AS unproven, uniqExactIf(name, NOT is_named) AS unnamed
  FROM (${countedSql(period, owned, starts)}
  )
  GROUP BY date, protocol, shown_network, shown_source, sequence_index, proven, said_version, segment, said_fine, said_coarse
)
GROUP BY date, protocol, network, source, sequence_index
ORDER BY date, protocol, network, source, sequence_index
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
