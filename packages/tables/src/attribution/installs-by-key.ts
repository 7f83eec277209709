import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals, unsigned } from '@tributary/clickhouse/literals'

/** Install facts of these apps with one of these keys, received within exact times: an app may come with the key of another. */
export interface InstallKeyLookup {
  app_ids: readonly string[]
  /** A result of `matchKey`. */
  match_keys: readonly string[]
  received_from_ms: number
  /** Exclusive. */
  received_to_ms: number
}

/** An install event that has a key. One event may come more than once. */
export interface KeyedInstall {
  app_id: string
  /** Unsigned 64-bit decimal. */
  key: string
  install_uuid: string
  received_at_ms: number
}

/** Keys of one statement, which stays far below `statement_bytes_max`. */
const keys_max = 20_000
const apps_max = 20_000
/** Rows that are in memory at a time: a busy address may have more. */
const page_rows = 10_000

/**
 * Install events by what a click may match them by, in pages. Throws a TypeError for a key that is no
 * number.
 */
export async function* findInstallsByKeys(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_ids, match_keys, received_from_ms, received_to_ms }: InstallKeyLookup,
): AsyncGenerator<KeyedInstall[]> {
  for (const apps of slices(app_ids, apps_max)) {
    for (const keys of slices(match_keys, keys_max)) {
      yield* pagesOf(
        clickhouse,
        `app_id IN (${textLiterals(apps)}) AND install_fact_keys_v1.match_key IN ${keySet(keys)}
         AND kind = 'install' AND received_at_ms >= ${Number(received_from_ms)} AND received_at_ms < ${Number(received_to_ms)}`,
      )
    }
  }
}

function* slices(values: readonly string[], length: number): Generator<string[]> {
  for (let at = 0; at < values.length; at += length) yield values.slice(at, at + length)
}

async function* pagesOf(clickhouse: Pick<Clickhouse, 'query'>, matching: string) {
  for (let after: KeyedInstall | null = null; ; ) {
    const rows: KeyedInstall[] = await clickhouse.query<KeyedInstall>(
      `SELECT app_id, toString(match_key) AS key, received_at_ms, install_uuid FROM install_fact_keys_v1
       WHERE ${matching} ${after === null ? '' : `AND ${behindSql(after)}`}
       ORDER BY app_id, match_key, received_at_ms, install_uuid LIMIT ${page_rows} WITH TIES`,
    )
    if (rows.length > 0) yield rows
    if (rows.length < page_rows) return
    after = rows.at(-1)!
  }
}

const behindSql = ({ app_id, key, received_at_ms, install_uuid }: KeyedInstall): string =>
  `(app_id, match_key, received_at_ms, install_uuid) > (${textLiteral(app_id)},
    toUInt64(${unsigned(key)}), ${Number(received_at_ms)}, ${textLiteral(install_uuid)})`
