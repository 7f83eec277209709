import type { Broker } from '@tributary/broker/broker'
import type { DecidedAt } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import { decideInOrder } from '@tributary/deciding/decide-in-order'
import { type AppWork, type KnownFacts, loadEvidence, loadFacts } from '@tributary/deciding/evidence'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { windowsOf } from '@tributary/domain/attribute/attribute'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import type { Geo } from '@tributary/geo/geo'
import type { RedecisionList, TakenRedecision } from '@tributary/tables/attribution/redecisions'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { findTouched } from './find-touched.ts'
import type { Landed } from './landed.ts'
import { publishDecisions } from './publish.ts'

/** The facts and the re-decisions of a batch that name an app. */
export interface NamedInstalls {
  app_id: string
  facts: readonly Fact[]
  entries: readonly TakenRedecision[]
}

/** An app of a batch with the facts that belong to its installs; for an app that is not there, how many records name it. */
export type LoadedApp = { unknown: number } | { unknown?: never; work: AppWork; known: KnownFacts }

/** Numbers of an app that was decided. */
export interface AppDone {
  published: number
  /** Installs that are to be decided again because of it. */
  touched: number
  dropped: { reason: string; count: number }[]
}

export interface DecideAppDeps {
  broker: Broker
  redecisions: Pick<RedecisionList, 'add'>
  geo: Geo
  now: () => number
}

/** Loads the app and what clicks and verdicts have no part in; the facts of the batch must be stored. */
export async function loadApp(
  attributionApps: Pick<AttributionApps, 'find'>,
  lookups: Lookups,
  tombstones: Tombstones,
  { app_id, facts, entries }: NamedInstalls,
): Promise<LoadedApp> {
  const app = await attributionApps.find(app_id)
  if (app === null) return { unknown: facts.length + entries.length }
  const again = new Set(entries.map(({ install_uuid }) => install_uuid))
  const isErasedClick = (id: string) => tombstones.isErasedClick(app_id, id)
  const work: AppWork = {
    ...{ app, facts, again, isErasedClick },
    windowsOf: (install, newest) => windowsOf(install, newest, (ms) => app.settingsAt(ms)),
  }
  return { work, known: await loadFacts(lookups, work) }
}

/** Decides the installs of an app and publishes the decisions; verdicts of earlier batches must be written. */
export async function decideApp(
  { broker, redecisions, geo, now }: DecideAppDeps,
  lookups: Lookups,
  loaded: LoadedApp,
  { decided_at, landed }: { decided_at: DecidedAt; landed: Landed },
): Promise<AppDone> {
  if (loaded.unknown !== undefined) {
    return { published: 0, touched: 0, dropped: [{ reason: 'unknown_app', count: loaded.unknown }] }
  }
  const { work, known } = loaded
  // 4. The installs are decided, in memory only.
  const evidence = await loadEvidence(lookups, geo, work, known)
  const decided_at_ms = now()
  const decided = await decideInOrder(evidence, decided_at_ms)
  const touched = await findTouched(lookups, work, evidence, decided)
  // A second try publishes unchanged decisions too: a decision of a try that sleeps may still land.
  const due = decided.filter(({ changed, install }) => changed || (decided_at.try > 1 && !landed.has(install)))
  // 5. What these decisions change is on the list. It comes before the decisions: a try that finds its own decision
  //    written finds nothing changed, and would add nothing.
  await redecisions.add(touched)
  // 6. The decisions are durable. A crash after it: the batch is decided again, under a higher number of the try. A publish that
  //    fails may have come, or still come.
  for (const { install } of due) landed.delete(install)
  await publishDecisions(
    broker,
    due.map((one) => ({ ...one.decided, decided_at_ms, decided_at })),
  )
  for (const { install } of decided) landed.add(install)
  const found = new Set(decided.map(({ install }) => install.install_uuid))
  const unknown = [...work.again].filter((uuid) => !found.has(uuid)).length
  return {
    published: due.length,
    touched: touched.length,
    dropped: [
      { reason: 'no_install', count: unknown },
      { reason: 'unchanged', count: decided.length - due.length },
    ].filter(({ count }) => count > 0),
  }
}
