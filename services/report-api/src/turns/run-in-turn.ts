import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import type { FastifyReply } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { countOpenAnswers } from '../answers/open-answers.ts'
import { createFairPool, type Owner } from './fair-pool.ts'
import { limitStatements } from './statement-limits.ts'

interface RunInTurnDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  embedded?: boolean
  registry: Registry
}

/**
 * Runs the statements of one request at the turn of its key, within the limits of docs/api.md#reports. `continues` if the
 * request had a turn before.
 */
export type RunInTurn = <Result>(
  owner: Owner,
  reply: FastifyReply,
  work: (clickhouse: Pick<Clickhouse, 'query'>) => Promise<Result>,
  continues?: boolean,
) => Promise<Result>

/** How long a connection stays open without a byte while its report waits and runs. */
const silence_ms_max = limits.report_wait_ms_max + limits.report_run_ms_max + 5_000

/** The fair pool of this process. Statements of reports and of installs share it, since they share the engine. */
export function createRunInTurn({ clickhouse, embedded = false, registry }: RunInTurnDeps): RunInTurn {
  const refused = new Counter({
    name: 'tributary_report_refused_total',
    help: 'Reports refused by the limits of what runs at once, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  })
  const pool = createFairPool(
    {
      running_max: embedded ? limits.embedded_reports_running_max : limits.reports_running_max,
      company_running_max: limits.company_reports_running_max,
      key_running_max: limits.key_reports_running_max,
      key_waiting_max: limits.key_reports_waiting_max,
      wait_ms_max: limits.report_wait_ms_max,
      run_ms_max: limits.report_run_ms_max,
    },
    (reason) => refused.inc({ reason }),
  )
  new Gauge({
    name: 'tributary_reports',
    help: 'Reports in hand, by whether they run or wait for their turn.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(pool.counts())) this.set({ state }, count)
    },
  })
  const openAnswer = countOpenAnswers(() => refused.inc({ reason: 'unread' }))
  const memory_bytes_max = embedded ? limits.embedded_report_memory_bytes_max : limits.report_memory_bytes_max

  return async (owner, { raw }, work, continues) => {
    if (!continues) openAnswer(owner.key_id, raw)
    const gone = new AbortController()
    const leave = () => gone.abort()
    if (raw.destroyed) leave()
    raw.once('close', leave)
    raw.setTimeout(silence_ms_max, () => raw.destroy())
    try {
      const limited = () => limitStatements(clickhouse, memory_bytes_max, gone.signal)
      return await pool.run(owner, () => work(limited()), gone.signal, continues)
    } finally {
      raw.off('close', leave) // an answer of many pages comes here once a page
    }
  }
}
