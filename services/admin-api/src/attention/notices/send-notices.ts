import type { AttentionList } from '@tributary/contracts/admin/attention'
import { limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { Trouble } from '@tributary/service-kit/service/health'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { listCompanies } from '@tributary/tenancy/companies/tenants'
import { Counter } from 'prom-client'
import type { AdminApiDeps } from '../../deps.ts'
import { companyLooks } from '../company-looks.ts'
import { lookAt, merged } from '../looked.ts'
import { systemLooks } from '../system-looks.ts'
import { entriesOf, noticeOf } from './notice.ts'
import { claimNotice, endNotice, findDue, findUnsent, type NoticeKey, removeOldNotices } from './notice-rows.ts'
import type { NoticeTarget } from './notice-targets.ts'

type LookDeps = Pick<AdminApiDeps, 'pool' | 'keyValue' | 'clickhouse' | 'broker' | 'status' | 'now' | 'logger'>

export interface NoticeDeps extends LookDeps, Pick<AdminApiDeps, 'registry'> {
  targets: readonly NoticeTarget[]
  troubles: (() => readonly Trouble[])[]
}

/**
 * Sends each target the list of everything once a UTC day, from `attention_notice_hour` on, unless there is nothing to say: the list
 * is empty, and so was what the target got last. The work of a job that runs every minute, in any number of processes.
 *
 * 1. look, then claim the notice in PostgreSQL: of several processes one gets it
 * 2. send it; after a crash or a failure the claim ends, and the next try has the same `Idempotency-Key`
 * 3. note that it was sent; after a crash between 2 and 3 a target gets it twice
 */
export function sendNotices(deps: NoticeDeps): (stop: AbortSignal) => Promise<void> {
  const { pool, now, targets, troubles, logger, registry } = deps
  const counter = sharedMetric(registry, Counter, {
    name: 'tributary_attention_notices_total',
    help: 'Tries to send a daily notice of what needs attention.',
    labelNames: ['target', 'result'],
  })
  if (targets.length === 0) return async () => {}
  const ids = targets.map(({ id }) => id)
  const byId = new Map(targets.map((target) => [target.id, target]))
  let unsent: NoticeKey[] = []
  troubles.push(() => troublesOf(unsent, byId))

  async function tryNotice(key: NoticeKey, heard: number, list: AttentionList, stop: AbortSignal): Promise<void> {
    const entries = entriesOf(list)
    const { kind, send } = byId.get(key.target)!
    if (!(await claimNotice(pool, key, entries, now()))) return // 1.
    try {
      if (entries > 0 || heard > 0) {
        await send(noticeOf(list, now()), key.day, stop) // 2.
        counter.inc({ target: kind, result: 'sent' })
      }
    } catch (err) {
      counter.inc({ target: kind, result: 'failure' })
      logger.warn({ err, target: kind }, 'a notice of what needs attention was not sent')
      return
    }
    await endNotice(pool, key, entries, now()) // 3.
  }

  return async (stop) => {
    unsent = await findUnsent(pool, ids, now())
    if (new Date(now()).getUTCHours() < limits.attention_notice_hour) return
    const day = utcDay(now())
    const due = await findDue(pool, ids, now())
    if (due.length === 0) return
    const list = await lookAtAll(deps, stop)
    for (const { target, heard } of due) {
      stop.throwIfAborted()
      await tryNotice({ target, day }, heard, list, stop)
    }
    await removeOldNotices(pool, now())
  }
}

/** The installation and every company, one after the other: nobody waits for this list. */
async function lookAtAll(deps: LookDeps & Pick<NoticeDeps, 'troubles'>, stop: AbortSignal): Promise<AttentionList> {
  const onError = (err: unknown) => deps.logger.warn({ err }, 'a look at what needs attention failed')
  const found = [await lookAt(systemLooks(deps), onError)]
  for (const { company_id } of await listCompanies(deps.pool)) {
    stop.throwIfAborted()
    found.push(await lookAt(companyLooks(deps, company_id, null), onError))
  }
  return merged(found)
}

const settingOf = { mail: 'an address of TRIBUTARY_ATTENTION_MAIL', webhook: 'TRIBUTARY_ATTENTION_WEBHOOK' }

/** Addresses that failed on one day are one trouble. */
function troublesOf(unsent: readonly NoticeKey[], byId: ReadonlyMap<string, NoticeTarget>) {
  const messages = unsent.map(({ target, day }) => {
    return `The daily notice of ${day} did not reach ${settingOf[byId.get(target)!.kind]}.`
  })
  return [...new Set(messages)].map((message) => ({
    ...{ code: 'attention_unsent', message, refuses: false },
    fix: 'The log says why: look for "was not sent". The next notice is tried again tomorrow.',
  }))
}
