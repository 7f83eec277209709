import type { WhatIf, WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'
import { type DecidedInstall, decideInOrder } from './decide-in-order.ts'
import { type AppWork, loadEvidence, loadFacts } from './evidence.ts'
import type { Lookups } from './lookups/lookups.ts'
import { mayHide, mayMove } from './may-move.ts'
import { createTally } from './tally.ts'

export interface WhatIfInput {
  app: Omit<AppWork['app'], 'company_apps'>
  settings: WhatIfSettings
  lookups: Lookups
  /** The newest decisions on the installs of the window, in the order of `byInstall`. */
  pages: AsyncIterable<readonly Decision[]>
  /** Installs that are decided at a time. More take more memory and hold the process up for longer. */
  batch_installs: number
  now: () => number
}

/** The windows of an install under other settings. */
const windowsUnder = (settings: WhatIfSettings, windows: Windows): Windows => ({
  click_hours: settings.click_window_hours ?? windows.click_hours,
  probabilistic_hours: settings.probabilistic === undefined ? windows.probabilistic_hours : null,
  reinstall_days: settings.reinstall_days ?? windows.reinstall_days,
})

/**
 * Finds what other settings would change, and publishes nothing (docs/attribution.md#what-if). It decides installs again as
 * install-attributor does: those that the settings may move, and those with a candidate that an earlier one of these got or lost. All
 * others keep their verdicts. Yields after each page how many installs it has read. Its memory holds a page, a batch, and a click for each
 * install that gets or loses one.
 */
export async function* whatIf({ pages, batch_installs, ...input }: WhatIfInput): AsyncGenerator<number, WhatIf> {
  const claims = createClaims()
  const tally = createTally()
  const pause = createPauses()
  let batch: Decision[] = []
  /** Clicks that installs of the batch may get or lose. */
  const contested = new Set<string>()
  /** Whether they may get others, which no candidate names. */
  let hides = false
  let read = 0

  const decideBatch = async () => {
    if (batch.length === 0) return
    const decided = await decideAgain(input, batch, claims)
    for (const one of decided) {
      claims.take(one)
      tally.take(one.newest!, one.decided)
    }
    // It has no facts any more.
    const found = new Set(decided.map(({ install }) => install.install_uuid))
    for (const one of batch) if (!found.has(one.install_uuid)) tally.keep(one)
    batch = []
    contested.clear()
    hides = false
  }

  for await (const page of pages) {
    for (const install of page) {
      await pause()
      const isTouched = install.candidates.some(
        ({ click_id }) => hides || contested.has(click_id) || claims.isMoved(click_id),
      )
      if (!isTouched && !mayMove(install, windowsUnder(input.settings, install.windows))) {
        tally.keep(install)
        continue
      }
      batch.push(install)
      for (const { click_id } of install.candidates) contested.add(click_id)
      hides ||= mayHide(install.candidates)
      if (batch.length === batch_installs) await decideBatch()
    }
    read += page.length
    yield read
  }
  await decideBatch()
  return tally.answer()
}

/** Decides installs again, without those that have no facts any more. */
async function decideAgain(
  { app, settings, lookups, now }: Omit<WhatIfInput, 'pages' | 'batch_installs'>,
  installs: readonly Decision[],
  claims: ReturnType<typeof createClaims>,
): Promise<DecidedInstall[]> {
  const newest = new Map(installs.map((decision) => [decision.install_uuid, decision]))
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
  return decideInOrder(await loadEvidence(seen, noGeo, work, await loadFacts(seen, work)), now())
}

const noGeo = { lookUp: () => ({ country: null, datacenter: false }) }

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
  const moved = new Set<string>()
  const won = new Map<string, WrittenClaim>()
  return {
    take({ install, newest, decided }: DecidedInstall): void {
      const [before, after] = [newest?.verdict?.click_id ?? null, decided.verdict?.click_id ?? null]
      if (before === after) return
      const { install_uuid, installed_at_ms, place } = install
      if (before !== null) {
        released.add(install_uuid)
        moved.add(before)
      }
      if (after !== null) won.set(after, { click_id: after, install_uuid, installed_at_ms, place })
    },
    /** Whether an install got or lost a click. */
    isMoved: (click_id: string): boolean => moved.has(click_id) || won.has(click_id),
    withMoved: (click_ids: readonly string[], written: readonly WrittenClaim[]): WrittenClaim[] => [
      ...written.filter(({ install_uuid }) => !released.has(install_uuid)),
      ...click_ids.flatMap((click_id) => won.get(click_id) ?? []),
    ],
  }
}
