import { attribute } from '@tributary/domain/attribute/attribute'
import { type Attributed, saysTheSame } from '@tributary/domain/attribute/decisions'
import { byInstall, type Claim } from '@tributary/domain/attribute/verdict'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'
import type { Evidence, OpenInstall } from './evidence.ts'

/** An install and what was decided about it now. */
export interface DecidedInstall extends OpenInstall {
  decided: Attributed
  /** It differs from the newest written decision. */
  changed: boolean
}

/**
 * Decides the installs of a batch, each one seeing what was decided about those before it. What an earlier decision gave to
 * an install of the batch that is not yet decided again is free meanwhile: that install is later.
 */
export async function decideInOrder(evidence: Evidence, now_ms: number): Promise<DecidedInstall[]> {
  const claims = earliestClaims(evidence.claims)
  const pause = createPauses()
  const done: DecidedInstall[] = []
  for (const one of evidence.open) {
    await pause()
    const { install, newest, windows, crowds, clicks } = one
    const decided = attribute({
      ...{ install, clicks, claims, windows, crowds, newest, now_ms },
      others: evidence.othersOf(install),
      isErasedClick: evidence.isErasedClick,
      isFlooded: evidence.isFlooded,
      datacenter: evidence.isDatacenter(install),
      blocked: evidence.isBlocked(install),
      neighbours_before: evidence.before(install),
      clicks_deleted_before_ms: evidence.clicks_deleted_before_ms,
    })
    const click_id = decided.verdict?.click_id ?? null
    if (click_id !== null) claims.set(click_id, earlier(claims.get(click_id), install))
    done.push({ ...one, decided, changed: newest === null || !saysTheSame(decided, newest) })
  }
  return done
}

/** Several installs may have one click until they are decided again: the earliest counts. */
function earliestClaims(written: readonly WrittenClaim[]): Map<string, Claim> {
  const claims = new Map<string, Claim>()
  for (const claim of written) claims.set(claim.click_id, earlier(claims.get(claim.click_id), claim))
  return claims
}

const earlier = (known: Claim | undefined, claim: Claim): Claim =>
  known !== undefined && byInstall(known, claim) < 0 ? known : claim
