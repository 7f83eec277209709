import { addRoute } from '@tributary/admin-http/add-route'
import { membershipsOf } from '@tributary/admin-http/caller'
import { type AttentionList, attentionRoutes } from '@tributary/contracts/admin/attention'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { appsOf, companiesOf } from '@tributary/domain/people/rights'
import { fairWork } from '@tributary/tenancy/fair-work'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { companyLooks } from './company-looks.ts'
import { lookAt, merged } from './looked.ts'
import { systemLooks } from './system-looks.ts'

/** What needs attention, for whoever asks. */
export function addAttentionRoute(app: FastifyInstance, deps: AdminApiDeps): void {
  const { now, logger, keyValue } = deps
  const onError = (err: unknown) => logger.warn({ err }, 'a look at what needs attention failed')
  const system = keptFor(limits.attention_fresh_ms, now, () => lookAt(systemLooks(deps), onError))
  const inTurn = fairWork({ at_once_max: limits.attention_looks_max, waiting_max: limits.attention_waiting_max })
  /** Counters that are away limit nobody. */
  const spend = async (person_id: string) => {
    const hit = await keyValue
      .hitWindow(`attention:${person_id}`, limits.attention_requests_max, 60_000)
      .catch((err: unknown) => onError(err))
    if (hit?.allowed === false) throw rateLimited(hit.retry_after_ms)
  }
  addRoute(app, attentionRoutes.listAttention, async (_input, request) => {
    const memberships = membershipsOf(request) ?? []
    const isOperator = membershipsOf(request) === null || companiesOf(memberships) === null
    const companies = [...new Set(memberships.flatMap(({ company_id }) => company_id ?? []))]
    const lookAtCompanies = async () => {
      const found: AttentionList[] = []
      for (const id of companies) found.push(await lookAt(companyLooks(deps, id, appsOf(memberships, id)), onError))
      return found
    }
    const person_id = request.caller?.kind === 'person' ? request.caller.session.person_id : null
    if (person_id !== null) await spend(person_id)
    const looked = companies.length === 0 ? [] : await inTurn(person_id ?? '', lookAtCompanies)
    return merged(isOperator ? [await system(), ...looked] : looked)
  })
}

/** A page asks often, and dead letters are read from the log: one look serves all for a while. */
function keptFor<T>(ms: number, now: () => number, look: () => Promise<T>): () => Promise<T> {
  let kept: { at_ms: number; found: Promise<T> } | null = null
  return () => {
    if (kept === null || Math.abs(now() - kept.at_ms) >= ms) kept = { at_ms: now(), found: look() }
    return kept.found
  }
}
