import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { traceClickhouse, traceHeaders } from '../traces/trace-clickhouse.ts'
import { EngineRefused, toRefusal } from './engine-refused.ts'
import { onlyAdds } from './only-adds.ts'
import type { Resource } from './resource.ts'

export const clickhouseSettings = [
  'TRIBUTARY_CLICKHOUSE_URL',
  'TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS',
  'TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS',
] as const
type ClickhouseConfig = Settings<(typeof clickhouseSettings)[number], 'TRIBUTARY_CLICKHOUSE_URL'>

/** More than the partitions that one process writes at a time, and than the queries that a server of 16 GB should run at once. */
const max_open_connections = 16

/**
 * A ClickHouse server as the settings say; one that is away is only logged. Throws `StartRefused` when it can't be used.
 * Set `complete_reads` where answers decide what is written.
 */
export async function openClickhouse(
  config: ClickhouseConfig,
  { logger, onClose, checks, traces }: Service,
  { complete_reads = false } = {},
): Promise<Clickhouse> {
  const clickhouse = await openClickhouseServer({
    complete_reads,
    ...splitUrl(config.TRIBUTARY_CLICKHOUSE_URL),
    connect_timeout_ms: config.TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS,
    query_timeout_ms: config.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS,
    max_open_connections,
    traceHeaders: traceHeaders(traces),
    logger,
  }).catch((error: unknown) => {
    throw toRefusal('ClickHouse', 'TRIBUTARY_CLICKHOUSE_URL', error)
  })
  onClose('clickhouse', () => clickhouse.close())
  checks.analytics = () => clickhouse.checkHealth()
  return traceClickhouse(clickhouse, traces)
}

/** `http://user:password@host:8123/database` in its parts. */
function splitUrl(text: string) {
  const url = new URL(text)
  const { username, password } = url
  const database = decodeURIComponent(url.pathname.slice(1))
  return {
    url: url.origin,
    ...(username === '' ? {} : { username: decodeURIComponent(username), password: decodeURIComponent(password) }),
    ...(database === '' ? {} : { database }),
  }
}

/** Throws `StartRefused` when a migration is missing, or one is ahead that takes something away: a service never changes a schema. */
export async function requireClickhouseSchema(clickhouse: Clickhouse): Promise<void> {
  const missing = await migrateClickhouse({ clickhouse, dryRun: true, accepts: onlyAdds }).catch((error: unknown) => {
    throw toRefusal('ClickHouse', 'TRIBUTARY_CLICKHOUSE_URL', error)
  })
  if (missing.length > 0) {
    throw new EngineRefused(
      `ClickHouse lacks ${missing.length} migrations (${missing[0]}).`,
      'Run: npx tributary migrate',
    )
  }
}

/**
 * A ClickHouse server for a process whose main work needs none: it starts while the server is away. Whether the tables that it
 * uses are there shows when it uses them.
 */
export const clickhouseWhenThere: Resource<
  Clickhouse,
  (typeof clickhouseSettings)[number],
  'TRIBUTARY_CLICKHOUSE_URL'
> = {
  binding: 'analytics',
  settings: clickhouseSettings,
  required: ['TRIBUTARY_CLICKHOUSE_URL'],
  open: (config, service) => openClickhouse(config, service),
}

/** A migrated ClickHouse server; options as in `openClickhouse`. */
export const clickhouseEngine = (
  options: { complete_reads?: boolean } = {},
): Resource<Clickhouse, (typeof clickhouseSettings)[number], 'TRIBUTARY_CLICKHOUSE_URL'> => ({
  binding: 'analytics',
  settings: clickhouseSettings,
  required: ['TRIBUTARY_CLICKHOUSE_URL'],
  async open(config, service) {
    const clickhouse = await openClickhouse(config, service, options)
    await requireClickhouseSchema(clickhouse)
    return clickhouse
  },
})
