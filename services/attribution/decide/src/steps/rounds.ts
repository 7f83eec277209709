import type { Fact } from '@tributary/contracts/attribution/found'
import type { TakenRedecision } from '@tributary/tables/attribution/redecisions'
import type { NamedInstalls } from './decide-app.ts'

/**
 * The apps of a batch in rounds, which are decided one after the other: those with few installs first. The apps of a round have
 * about as many as each other, so a batch has few rounds however many apps it has.
 */
export function roundsOf(facts: readonly Fact[], entries: readonly TakenRedecision[]): NamedInstalls[][] {
  const found = Map.groupBy(facts, ({ app_id }) => app_id)
  const again = Map.groupBy(entries, ({ app_id }) => app_id)
  const apps = [...new Set([...found.keys(), ...again.keys()])].map((app_id) => ({
    ...{ app_id, facts: found.get(app_id) ?? [], entries: again.get(app_id) ?? [] },
  }))
  const rounds = Map.groupBy(apps, (app) => Math.ceil(Math.log2(app.facts.length + app.entries.length)))
  return [...rounds].toSorted(([a], [b]) => a - b).map(([, round]) => round)
}
