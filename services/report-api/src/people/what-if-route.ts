import { finished, Readable } from 'node:stream'
import { addRoute } from '@tributary/admin-http/add-route'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type WhatIfLine, type WhatIfSettings, whatIfRoutes } from '@tributary/contracts/admin/rows/what-if'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { whatIf } from '@tributary/deciding/what-if'
import { utcDay } from '@tributary/domain/utc-day'
import { countInstalls, type InstallsOfWindow, readInstallsInOrder } from '@tributary/tables/rows/installs-in-order'
import { findClicksDeletedBefore } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { createSlots } from '../turns/slots.ts'
import type { GetReader } from './app-reader.ts'
import { windowOf } from './row-window.ts'

export interface WhatIfDeps {
  pool: Pool
  clickhouse: Pick<Clickhouse, 'query' | 'stream'>
  getReader: GetReader
  now: () => number
}

/** Installs between two lines of progress. */
const page_installs = 1000
/** Installs that are decided at a time. */
const batch_installs = 2000

/** The route that answers what other settings of attribution would change (docs/attribution.md#what-if). It reads only. */
export function addWhatIfRoute(app: FastifyInstance, { pool, clickhouse, getReader, now }: WhatIfDeps): void {
  const takeSlot = createSlots(limits.what_if_answers_max, 'what-if')
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort())

  addRoute(app, whatIfRoutes.whatIf, async ({ query }, request, reply) => {
    const { app_id, company_id } = await getReader(request)
    const { since_ms: _since, until_ms: _until, ...settings } = query
    const window = { ...windowOf(query, now()), app_id }
    const begun_ms = now()
    const readMark = async () => {
      const clicks_deleted_before_ms = await findClicksDeletedBefore(pool, company_id)
      requireClicks(window.since_ms, clicks_deleted_before_ms, begun_ms)
      return clicks_deleted_before_ms
    }
    const clicks_deleted_before_ms = await readMark()
    const release = takeSlot(app_id)
    const gone = new AbortController()
    const signal = AbortSignal.any([stop.signal, gone.signal])
    const lines = linesOf({ ...window, clicks_deleted_before_ms }, settings, readMark, signal)
    // A client that leaves frees its slot when its statement has ended: the end of the generator waits for that.
    finished(reply.raw, { readable: false }, () => {
      gone.abort()
      void lines.return().then(release, release)
    })
    // Left open, the connection would hold up the stop of the process. Who compresses lines holds them back.
    reply.headers({ 'cache-control': 'private, no-store, no-transform', connection: 'close' })
    return reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(lines))
  })

  async function* linesOf(
    { clicks_deleted_before_ms, ...window }: InstallsOfWindow & { clicks_deleted_before_ms: number },
    settings: WhatIfSettings,
    readMark: () => Promise<number>,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    const { app_id } = window
    const installs = await countInstalls(clickhouse, window)
    yield lineOf({ kind: 'progress', decided: 0, installs })
    const steps = whatIf({
      app: { app_id, clicks_deleted_before_ms },
      lookups: clickhouseLookups(clickhouse),
      pages: readInstallsInOrder(clickhouse, window, page_installs, signal),
      ...{ settings, batch_installs, now },
    })
    try {
      for (;;) {
        signal.throwIfAborted()
        const { done, value } = await steps.next()
        if (done) {
          // Retention may have deleted clicks meanwhile, and installs would have lost them by no setting.
          await readMark()
          return yield lineOf({ kind: 'what_if', ...value })
        }
        yield lineOf({ kind: 'progress', decided: value, installs: Math.max(installs, value) })
      }
    } finally {
      // It closes the rows that nobody reads any more.
      await steps.return(undefined as never)
    }
  }
}

const lineOf = (line: WhatIfLine): string => `${JSON.stringify(line)}\n`

/** Throws `clicks_expired` unless all clicks that installs from a time on may have come from are stored. */
function requireClicks(since_ms: number, clicks_deleted_before_ms: number, now_ms: number): void {
  // Tables drop whole days.
  const stored_from_ms = Math.max(clicks_deleted_before_ms, now_ms - limits.click_kept_ms + day_ms)
  const first_ms = stored_from_ms + limits.candidate_lookback_ms_max
  if (since_ms >= first_ms) return
  const first_day = utcDay(Math.ceil(first_ms / day_ms) * day_ms)
  const message = `Clicks that these installs may have come from are deleted. The first day that works is ${first_day}.`
  throw new CodedError('clicks_expired', { field: 'since_ms', message })
}
