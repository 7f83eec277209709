import type { WhatIf, WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { byPlace } from '@tributary/domain/attribute/verdict'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'
import type { InstallInOrder } from '@tributary/tables/rows/installs-in-order'
import { type DecidedInstall, decideInOrder } from './decide-in-order.ts'
import { type AppWork, loadEvidence, loadFacts } from './evidence.ts'
import type { Lookups } from './lookups/lookups.ts'
import { createTally } from './tally.ts'

export interface WhatIfInput {
  app: Omit<AppWork['app'], 'company_apps'>
  settings: WhatIfSettings
  lookups: Lookups
  /** Installs of the window in the order of `byInstall`. One whose time has changed may come at its old places too: those are skipped. */
  pages: AsyncIterable<readonly InstallInOrder[]>
  now: () => number
}

/** The windows of an install under other settings. */
const windowsUnder = (settings: WhatIfSettings, windows: Windows): Windows => ({
  click_hours: settings.click_window_hours ?? windows.click_hours,
  probabilistic_hours: settings.probabilistic === undefined ? windows.probabilistic_hours : null,
  reinstall_days: settings.reinstall_days ?? windows.reinstall_days,
})

/**
 * Decides installs again with other settings, as install-attributor does, and publishes nothing (docs/attribution.md#what-if). Yields
 * after each page how many are decided. Its memory holds one page, and one click for each install that gets or loses one.
 */
export async function* whatIf({ app, settings, lookups, pages, now }: WhatIfInput): AsyncGenerator<number, WhatIf> {
  const claims = createClaims()
  const tally = createTally()
  for await (const page of pages) {
    const standing = await findStanding(lookups, app.app_id, page)
    const newest = new Map([...standing].filter(([, decision]) => mayChange(decision, settings)))
    for (const [uuid, decision] of standing) {
      if (!newest.has(uuid)) tally.take(decision, decision)
    }
    const isErasedClick = erasedAmong(newest.values())
    const seen: Lookups = {
      ...lookups,
      newest: async () => newest,
      claims: async (app_id, click_ids) => claims.withMoved(click_ids, await lookups.claims(app_id, click_ids)),
      clicks: async (app_id, click_ids, ranges) =>
        (await lookups.clicks(app_id, click_ids, ranges)).filter(({ click_id }) => !isErasedClick(click_id)),
      // An install keeps `datacenter_ip` and `blocked_ip`: no setting changes them. `noGeo` leaves out the first.
      hits: async () => [],
    }
    const work: AppWork = {
      ...{ app: { ...app, company_apps: [] }, facts: [], again: new Set(newest.keys()), isErasedClick },
      windowsOf: (_install, before) => windowsUnder(settings, before!.windows),
    }
    const evidence = await loadEvidence(seen, noGeo, work, await loadFacts(seen, work))
    for (const one of await decideInOrder(evidence, now())) {
      claims.take(one)
      tally.take(one.newest!, one.decided)
    }
    yield tally.installs()
  }
  return tally.answer()
}

const noGeo = { lookUp: () => ({ country: null, datacenter: false }) }

/** The newest decisions of installs that have the time and place at which the page names them. */
async function findStanding(
  lookups: Lookups,
  app_id: string,
  page: readonly InstallInOrder[],
): Promise<Map<string, Decision>> {
  const newest = await lookups.newest(
    app_id,
    page.map(({ install_uuid }) => install_uuid),
  )
  const standing = page.flatMap(({ install_uuid, installed_at_ms, place }) => {
    const found = newest.get(install_uuid)
    const isStanding = found?.installed_at_ms === installed_at_ms && byPlace(found.place, place) === 0
    return isStanding ? [[install_uuid, found] as const] : []
  })
  return new Map(standing)
}

/**
 * Whether other settings can give an install another verdict. No window, and no match by address where there was none, makes a click a
 * candidate (docs/rules.md#candidates): without any an install comes from none, and holds none. Most installs are so.
 */
const mayChange = ({ candidates }: Decision, { reinstall_days }: WhatIfSettings): boolean =>
  candidates.length > 0 || reinstall_days !== undefined

/** Whether a named click was erased. Only then does a decision say of an unknown click that it is used. */
function erasedAmong(decisions: Iterable<Decision>): (click_id: string) => boolean {
  const erased = new Set<string>()
  for (const { candidates } of decisions) {
    for (const { click_id, partner, reason } of candidates)
      if (partner === null && reason === 'click_already_used') erased.add(click_id)
  }
  return (click_id) => erased.has(click_id)
}

/** Claims as they are written, corrected by the installs that now hold another click. */
function createClaims() {
  const released = new Set<string>()
  const won = new Map<string, WrittenClaim>()
  return {
    take({ install, newest, decided }: DecidedInstall): void {
      const [before, after] = [newest?.verdict?.click_id ?? null, decided.verdict?.click_id ?? null]
      if (before === after) return
      const { install_uuid, installed_at_ms, place } = install
      if (before !== null) released.add(install_uuid)
      if (after !== null) won.set(after, { click_id: after, install_uuid, installed_at_ms, place })
    },
    withMoved: (click_ids: readonly string[], written: readonly WrittenClaim[]): WrittenClaim[] => [
      ...written.filter(({ install_uuid }) => !released.has(install_uuid)),
      ...click_ids.flatMap((click_id) => won.get(click_id) ?? []),
    ],
  }
}
