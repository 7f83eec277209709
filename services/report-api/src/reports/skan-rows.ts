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

/**
 * The advertised items whose postbacks may belong to an app: itself, and what it showed ads for where no app has that item.
 * Signed ones come first, so that what strangers make up pushes none of them out.
 */
export async function itemsOf(
  { clickhouse, storeApps }: { clickhouse: ReportSources['clickhouse']; storeApps: Pick<StoreApps, 'findOwner'> },
  window: ItemWindow,
): Promise<string[]> {
  const published = await clickhouse.query<{ item: string }>(
    `SELECT toString(advertised_item_id) AS item FROM postback_publishers_v1
     WHERE publisher_item_id = {item:UInt64} AND day >= {first_day:Date} AND day <= {last_day:Date}
     GROUP BY advertised_item_id
     ORDER BY max(valid) DESC, advertised_item_id
     LIMIT ${limits.report_published_items_max}`,
    { ...window },
  )
  const unowned = await withoutOwner(
    published.map(({ item }) => item),
    storeApps,
  )
  return [window.item, ...unowned]
}

/** Items whose owners are looked up at a time. All reports that run at once must fit into the line of look-ups. */
const owners_at_once = 500

async function withoutOwner(items: readonly string[], storeApps: Pick<StoreApps, 'findOwner'>): Promise<string[]> {
  const unowned: string[] = []
  for (let from = 0; from < items.length; from += owners_at_once) {
    const some = items.slice(from, from + owners_at_once)
    const owners = await Promise.all(some.map((item) => storeApps.findOwner(item)))
    unowned.push(...some.filter((_, n) => owners[n] === null))
  }
  return unowned
}

/** Digits only: they stand in the statement, since a server takes parameters of 128 KiB at most. */
const numbers = (values: Iterable<string | number>): string => [...values].map((value) => BigInt(value)).join(',')

/** Rows of the app in the window. Ten thousand items as one text are read in a tenth of the time of a list. */
const ofApp = (items: readonly string[]): string => `advertised_item_id IN
        (SELECT toUInt64(arrayJoin(splitByChar(',', '${numbers(items)}'))))
      AND (advertised_item_id = {item:UInt64} OR publisher_item_id = {item:UInt64})
      AND day >= {first_day:Date} AND day <= {last_day:Date}
      AND received_at_ms >= {since_ms:Int64} AND received_at_ms < {until_ms:Int64}`

/**
 * Claims of the window that an earlier one beats, from any time: postback-writer has marked them (docs/adr/0375). Those of the app
 * alone are held in memory: what strangers resend of other apps has no bound.
 */
const beaten = (items: readonly string[]): string => `
    SELECT claim_key FROM postback_beaten_claims_v1
    WHERE day >= {first_day:Date} AND day <= {last_day:Date}
      AND claim_key IN (SELECT ${claimKeySql()} FROM postbacks_decoded_v1 WHERE ${ofApp(items)} AND verdict = 'valid')`

/**
 * For look-ups in `postback_claims_v1`, which is in the order of its keys: few keys are found by its index, many are read
 * through.
 */
const byKey = 'SETTINGS use_index_for_in_with_subqueries_max_values = 10000'

/** Keys of the window that no signature proves here, but that one proves elsewhere. */
const provenElsewhere = (items: readonly string[]): string => `
    SELECT postback_key FROM postback_claims_v1
    WHERE postback_key IN (SELECT postback_key FROM postbacks_decoded_v1 WHERE ${ofApp(items)} AND verdict != 'valid')
    ${byKey}`

/** A group of the report on a day as one number: strangers may make up hundreds of thousands of them. */
const groupKey = 'cityHash64(day, protocol, network, source, sequence_index)'

/**
 * Groups of a day that have a row of their own: those with something proven, and those with the most postbacks of all others
 * (docs/rules.md#skan-report). What strangers make up must fill no page.
 */
const namedGroups = (items: readonly string[]): string => `
    SELECT name FROM (
      SELECT day, ${groupKey} AS name, max(verdict = 'valid') AS has_proven, count() AS postbacks
      FROM postbacks_decoded_v1 FINAL
      WHERE ${ofApp(items)}
      GROUP BY day, protocol, network, source, sequence_index
      ORDER BY day, postbacks DESC, protocol, network, source, sequence_index
      LIMIT ${limits.report_unproven_groups_max} BY day, if(has_proven, name, 0)
    )`

/** Winners that count, and what is not proven. */
const countedSql = (period: string, items: readonly string[], starts: readonly number[]): string => `
  SELECT ${period} AS date, protocol, sequence_index, postback_key, verdict = 'valid' AS proven,
    ${groupKey} AS name, proven OR name IN (${namedGroups(items)}) AS is_named,
    if(is_named, network, '') AS shown_network, if(is_named, source, '') AS shown_source,
    if(proven, version, '') AS said_version, if(proven, fine, NULL) AS said_fine, if(proven, coarse, NULL) AS said_coarse,
    if(proven, roundDown(received_at_ms, CAST([${numbers(starts)}], 'Array(Int64)')), 0) AS segment,
    proven AND sequence_index = 0 AND NOT re_engagement AS download, ifNull(redownload, 0) AS again
  FROM postbacks_decoded_v1 FINAL
  WHERE ${ofApp(items)} AND if(verdict = 'valid',
    environment IN {environments:Array(String)} AND ifNull(did_win, 1) = 1 AND ${claimKeySql()} NOT IN (${beaten(items)}),
    postback_key NOT IN (${provenElsewhere(items)}))`

/**
 * Rows with their counts, and with their values by version of SKAN and segment of time (`segmentStarts`), by period of `day`.
 * Each row has `folded`: how many groups all pages fold.
 */
export const skanRowsSql = (period: string, items: readonly string[], starts: readonly number[]): string => `
SELECT toString(date) AS day, protocol, shown_network AS network, shown_source AS source, sequence_index,
  sum(counted) AS postbacks, sum(new) AS installs, sum(old) AS redownloads,
  sumIf(counted, said_fine IS NULL AND said_coarse IS NULL) AS cv_null,
  sumIf(counted, said_coarse = 'low') AS coarse_low, sumIf(counted, said_coarse = 'medium') AS coarse_medium,
  sumIf(counted, said_coarse = 'high') AS coarse_high, sum(unproven) AS unverified,
  groupArrayIf((said_version, segment, said_fine, said_coarse, counted), counted > 0) AS values,
  sum(sum(unnamed)) OVER () AS folded
FROM (
  SELECT date, protocol, shown_network, shown_source, sequence_index, proven, said_version, segment, said_fine, said_coarse,
    countIf(proven) AS counted, countIf(download AND NOT again) AS new, countIf(download AND again) AS old,
    uniqExactIf(postback_key, NOT proven) AS unproven, uniqExactIf(name, NOT is_named) AS unnamed
  FROM (${countedSql(period, items, starts)}
  )
  GROUP BY date, protocol, shown_network, shown_source, sequence_index, proven, said_version, segment, said_fine, said_coarse
)
GROUP BY date, protocol, network, source, sequence_index
ORDER BY date, protocol, network, source, sequence_index
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
