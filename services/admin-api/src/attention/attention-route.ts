import { addRoute } from '@tributary/admin-http/add-route'
import { membershipsOf } from '@tributary/admin-http/caller'
import { type AttentionList, attentionRoutes } from '@tributary/contracts/admin/attention'
import { limits } from '@tributary/contracts/limits'
import { appsOf, companiesOf } from '@tributary/domain/people/rights'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { companyLooks } from './company-looks.ts'
import { lookAt } from './looked.ts'
import { systemLooks } from './system-looks.ts'

/** What needs attention, for whoever asks. */
export function addAttentionRoute(app: FastifyInstance, deps: AdminApiDeps): void {
  const { now, logger } = deps
  const onError = (err: unknown) => logger.warn({ err }, 'a look at what needs attention failed')
  const system = keptFor(limits.attention_fresh_ms, now, () => lookAt(systemLooks(deps), onError))
  addRoute(app, attentionRoutes.listAttention, async (_input, request) => {
    const memberships = membershipsOf(request) ?? []
    const isOperator = membershipsOf(request) === null || companiesOf(memberships) === null
    const companies = [...new Set(memberships.flatMap(({ company_id }) => company_id ?? []))]
    const looks = companies.flatMap((id) => companyLooks(deps, id, appsOf(memberships, id)))
    const found = await Promise.all([isOperator ? system() : nothing, lookAt(looks, onError)])
    return {
      items: found.flatMap(({ items }) => items),
      unchecked: [...new Set(found.flatMap(({ unchecked }) => unchecked))],
    }
  })
}

const nothing: AttentionList = { items: [], unchecked: [] }

/** A page asks often, and dead letters are read from the log: one look serves all for a while. */
function keptFor<T>(ms: number, now: () => number, look: () => Promise<T>): () => Promise<T> {
  let kept: { at_ms: number; found: Promise<T> } | null = null
  return () => {
    if (kept === null || Math.abs(now() - kept.at_ms) >= ms) kept = { at_ms: now(), found: look() }
    return kept.found
  }
}
