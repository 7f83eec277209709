import type { WhatIf, WhatIfMove, WhatIfSide } from '@tributary/contracts/admin/rows/what-if'
import { organic } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { type Attributed, hasOtherVerdict } from '@tributary/domain/attribute/decisions'

type Counted = Pick<Attributed, 'verdict'>

/** Counts installs, by partner and by move between partners. */
export function createTally() {
  let installs = 0
  let changed = 0
  const partners = new Map<string, WhatIf['partners'][number]>()
  const moves = new Map<string, WhatIfMove>()
  const countsOf = (partner: string) => {
    const counts = partners.get(partner) ?? { partner, before: 0, after: 0, reinstalls_before: 0, reinstalls_after: 0 }
    partners.set(partner, counts)
    return counts
  }
  const count = (before: Counted, after: Counted) => {
    installs += 1
    const [left, joined] = [countsOf(partnerOf(before)), countsOf(partnerOf(after))]
    left.before += 1
    joined.after += 1
    if (before.verdict?.reinstall) left.reinstalls_before += 1
    if (after.verdict?.reinstall) joined.reinstalls_after += 1
  }
  return {
    /** Counts an install that stays as it is. */
    keep: (install: Counted): void => count(install, install),
    /** Counts an install that was decided again. */
    take(before: Attributed, after: Attributed): void {
      count(before, after)
      if (!hasOtherVerdict(before, after)) return
      changed += 1
      const [from, to] = [partnerOf(before), partnerOf(after)]
      const move = moves.get(`${from} ${to}`)
      if (move !== undefined) move.installs += 1
      else {
        const example = {
          install_uuid: before.install_uuid,
          before: sideOf(before, after),
          after: sideOf(after, before),
        }
        moves.set(`${from} ${to}`, { from, to, installs: 1, example })
      }
    },
    answer: (): WhatIf => ({
      ...{ installs, changed },
      partners: [...partners.values()].toSorted(
        (a, b) => b.before - a.before || b.after - a.after || byText(a.partner, b.partner),
      ),
      moves: [...moves.values()]
        .toSorted((a, b) => b.installs - a.installs || byText(a.from, b.from) || byText(a.to, b.to))
        .slice(0, limits.what_if_moves_max),
    }),
  }
}

const byText = (a: string, b: string): number => Number(a > b) - Number(a < b)

/** An install that waits counts as organic, as its money does. */
const partnerOf = ({ verdict }: Counted): string => verdict?.partner ?? organic

function sideOf({ verdict, pending, candidates }: Attributed, other: Attributed): WhatIfSide {
  const { partner, attribution_type, campaign, click_id, reinstall, fraud_flags } = verdict ?? waiting
  const other_click_id = other.verdict?.click_id ?? null
  const lost = candidates.find((one) => one.click_id === other_click_id && one.outcome === 'lost')
  return {
    ...{ partner, attribution_type, campaign, click_id, reinstall, fraud_flags, pending },
    reason: lost?.reason ?? null,
  }
}

const waiting = {
  ...{ partner: organic, attribution_type: organic, campaign: null, click_id: null },
  ...{ reinstall: false, fraud_flags: [] },
} as const satisfies Partial<NonNullable<Attributed['verdict']>>
