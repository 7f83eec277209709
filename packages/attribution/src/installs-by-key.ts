import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { checked, keySet, literals } from './literals.ts'

/** Exact bounds; those that are absent bound nothing. */
export interface KeyBounds {
  received_from_ms?: number
  /** Exclusive. */
  received_to_ms?: number
  installed_from_ms?: number
  installed_to_ms?: number
}

/** Which install facts of these apps have one of these keys: an app may come with the key of another. */
export interface InstallKeyLookup extends KeyBounds {
  app_ids: readonly string[]
  /** A result of `matchKey`. */
  match_keys: readonly string[]
}

/** An install event that has a key. One event may come more than once. */
export interface KeyedInstall {
  app_id: string
  /** Unsigned 64-bit decimal. */
  key: string
  install_uuid: string
  received_at_ms: number
  installed_at_ms: number
}

/** Keys of one statement, which stays far below `statement_bytes_max`. */
const keys_max = 20_000
const apps_max = 20_000
/** Rows that are in memory at a time: a busy address may have more. */
const page_rows = 10_000

/**
 * Install events by what a click may match them by, in pages. Throws a TypeError for an app or a key of another shape: they
 * stand in the statement as literals (clickhouse/README.md).
 */
export async function* findInstallsByKeys(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_ids, match_keys, ...bounds }: InstallKeyLookup,
): AsyncGenerator<KeyedInstall[]> {
  for (const apps of slices(app_ids, apps_max)) {
    for (const keys of slices(match_keys, keys_max)) {
      const among = `install_fact_keys_v1.match_key IN ${keySet(keys)}`
      yield* pagesOf(clickhouse, `app_id IN (${literals('app_id', apps)}) AND ${among}`, bounds)
    }
  }
}

function* slices(values: readonly string[], length: number): Generator<string[]> {
  for (let at = 0; at < values.length; at += length) yield values.slice(at, at + length)
}

async function* pagesOf(clickhouse: Pick<Clickhouse, 'query'>, matching: string, bounds: KeyBounds) {
  for (let after: KeyedInstall | null = null; ; ) {
    const conditions = [
      matching,
      "kind = 'install'",
      ...Object.entries(bounds).map(([name, ms]) => `${boundSql[name as keyof KeyBounds]} ${Number(ms)}`),
    ]
    if (after !== null) conditions.push(behindSql(after))
    const rows: KeyedInstall[] = await clickhouse.query<KeyedInstall>(
      `SELECT app_id, toString(match_key) AS key, received_at_ms, install_uuid, installed_at_ms
       FROM install_fact_keys_v1
       WHERE ${conditions.join(' AND ')}
       ORDER BY app_id, match_key, received_at_ms, install_uuid LIMIT ${page_rows} WITH TIES`,
    )
    if (rows.length > 0) yield rows
    if (rows.length < page_rows) return
    after = rows.at(-1)!
  }
}

const boundSql: Record<keyof KeyBounds, string> = {
  received_from_ms: 'received_at_ms >=',
  received_to_ms: 'received_at_ms <',
  installed_from_ms: 'installed_at_ms >=',
  installed_to_ms: 'installed_at_ms <',
}

const behindSql = ({ app_id, key, received_at_ms, install_uuid }: KeyedInstall): string =>
  `(app_id, match_key, received_at_ms, install_uuid) > (${literals('app_id', [app_id])},
    toUInt64(${checked('match_key', key)}), ${Number(received_at_ms)}, ${literals('install_uuid', [install_uuid])})`
