import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { type EraserDeps, runErasures } from '@tributary/eraser/run-erasures'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { noteLog } from '@tributary/erasure/unread-events'
import type { Rate, SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { pino } from 'pino'
import { openReportStage } from '../reports/stage.ts'
import { createTombstoneStage } from './tombstone-stage.ts'

/** When erasures begin: all that a history has was received before. */
export const mark_ms = now_ms + 1000

let sent = 0
/** An event of an install as its SDK sends it, a day before all erasures; each has an id of its own. */
export const sentEvent = (install_uuid: string, given: Partial<SentEvent> = {}): SentEvent => {
  sent += 1
  return {
    ...{ app: 0, install_uuid, partition: 0, source: 'sdk', received_at_ms: now_ms, event_id: `e${sent}` },
    ...{
      event_name: 'app_open',
      event_ts_ms: now_ms - day_ms + sent,
      revenue: null,
      currency: null,
      transaction_id: null,
    },
    ...given,
  }
}

/** Ends a run as a kill would. */
export class Killed extends Error {}

/** The stage of reports with an eraser and its PostgreSQL. */
export async function openErasureStage() {
  const tombs = await createTombstoneStage()
  const { pool, masterKeys } = tombs
  const stage = await openReportStage({ erased: tombs.erased })
  const deps: EraserDeps = {
    ...{ pool, masterKeys, clickhouse: stage.clickhouse, redecisions: memoryRedecisions() },
    keyValue: memoryKeyValue(() => mark_ms),
    now: () => mark_ms,
    noteLog: () => noteLog(stage.broker),
    findOlderWork: async () => [],
    audit: {
      findAudited: async () => new Map(),
      rewriteApp: async () => new Map(),
      rewriteArchives: async () => new Map(),
      rewriteNoted: async () => {},
    },
    pause: async () => {},
    logger: pino({ level: 'silent' }),
  }
  const erasure = {
    ...stage,
    ...{ pool, masterKeys, deps },
    setRates(rates: readonly Rate[]) {
      stage.rates = rates
    },
    makeApp: tombs.makeApp,
    /** Queues installs of an app. */
    request: (app_id: string, install_uuids: readonly string[], asked_by: 'sdk' | 'admin' = 'sdk', at_ms = now_ms) =>
      queueErasures(
        { pool, masterKeys },
        install_uuids.map((install_uuid) => ({ app_id, install_uuid, requested_at_ms: at_ms, asked_by })),
      ),
    certificate: (app_id: string, install_uuid: string) => findCertificate({ pool, masterKeys }, app_id, install_uuid),
    /** One run, from its beginning to its end; `more` replaces parts of it. */
    async run(more: Partial<EraserDeps> = {}) {
      const run = await requestRun(pool, mark_ms)
      await pool.query('UPDATE erasure_runs SET begun_at_ms = $2 WHERE run = $1', [run, mark_ms])
      await runErasures({ ...deps, ...more }, run, new AbortController().signal)
      return (await findRun(pool, run))!
    },
    /** Runs until it is done, and is killed before each of these steps of the whole, which are counted on. */
    async runKilledAt(steps: readonly number[]) {
      for (const step of steps) {
        let left = step
        const atStep = () => {
          left -= 1
          if (left < 0) throw new Killed(randomUUID())
        }
        try {
          await erasure.run({ atStep })
        } catch (err) {
          if (!(err instanceof Killed)) throw err
        }
      }
      return erasure.run()
    },
    async close() {
      await stage.close()
      await tombs.close()
    },
  }
  return erasure
}
export type ErasureStage = Awaited<ReturnType<typeof openErasureStage>>
