import { byPlace } from '@tributary/domain/attribute/verdict'
import { isGone, type Tombstones } from '@tributary/domain/erasure/tombstones'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'
import type { IsLiving, Lookups } from './lookups.ts'

/**
 * `Lookups` that find nothing of an erased life, whether it is deleted by now or not
 * (docs/decisions/erasure.md#an-erased-life-is-not-found): a batch finds the same before the deletes and after them. An app of which
 * nothing was erased costs nothing.
 */
export function withoutErased(lookups: Lookups, tombstones: Tombstones): Lookups {
  const isErasedClick = ({ app_id, click_id }: { app_id: string; click_id: string }) =>
    tombstones.isErasedClick(app_id, click_id)

  /** A claim does not tell when its install was received: it is that of the living one if the newest verdict has its place. */
  async function livingClaims(app_id: string, claims: readonly WrittenClaim[]): Promise<WrittenClaim[]> {
    const marked = claims.filter(({ install_uuid }) => tombstones.markOf(app_id, install_uuid) !== null)
    if (marked.length === 0) return [...claims]
    const newest = await living.newest(app_id, [...new Set(marked.map(({ install_uuid }) => install_uuid))])
    const erased = new Set(
      marked.filter(({ install_uuid, place }) => {
        const found = newest.get(install_uuid)
        return found === undefined || byPlace(found.place, place) !== 0
      }),
    )
    return claims.filter((claim) => !erased.has(claim))
  }

  const isLiving: IsLiving = (fact) => !isGone(tombstones, fact)

  const living: Lookups = {
    async facts(app_id, ids, asked) {
      if (!tombstones.hasAny(app_id)) return lookups.facts(app_id, ids, asked)
      const found = await lookups.facts(app_id, ids, { ...asked, markOf: (id) => tombstones.markOf(app_id, id) })
      const kept = [...found].map(([id, facts]) => [id, facts.filter((fact) => !isGone(tombstones, fact))] as const)
      return new Map(kept.filter(([, facts]) => facts.length > 0))
    },
    async newest(app_id, ids) {
      const found = await lookups.newest(app_id, ids)
      if (!tombstones.hasAny(app_id)) return found
      return new Map([...found].filter(([, decision]) => !isGone(tombstones, decision)))
    },
    async claims(app_id, ids) {
      const found = await lookups.claims(app_id, ids)
      return tombstones.hasAny(app_id) ? livingClaims(app_id, found) : found
    },
    async clicks(app_id, ids, ranges) {
      const found = await lookups.clicks(app_id, ids, ranges)
      return found.filter((click) => !isErasedClick(click))
    },
    async installs(app_id, ranges, of_key_max) {
      const found = await lookups.installs(app_id, ranges, of_key_max)
      return tombstones.hasAny(app_id) ? found.filter((fact) => !isGone(tombstones, { app_id, ...fact })) : found
    },
    lastByKey: (app_id, keys) => lookups.lastByKey(app_id, keys, isLiving),
    aroundByKey: (app_id, keys) => lookups.aroundByKey(app_id, keys, isLiving),
    firstByKey: (app_id, ranges) => lookups.firstByKey(app_id, ranges, isLiving),
    async hits(app_ids, ranges) {
      const found = await lookups.hits(app_ids, ranges)
      // Other apps of the company may be locked: a click that may be erased is no evidence.
      return found.filter((click) => !tombstones.isLocked(click.app_id) && !isErasedClick(click))
    },
    floods: (app_id, days) => lookups.floods(app_id, days),
  }
  return living
}
