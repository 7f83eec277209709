import { findNearestName } from './nearest-name.ts'
import { withoutPart } from './part-settings.ts'
import { foreignSettings, settings } from './settings.ts'

const known: readonly string[] = [...Object.keys(settings), ...foreignSettings]

/**
 * One line for each `TRIBUTARY_` variable that nothing reads, with the known name that is nearest, if one is near. Settings of other
 * services are known: one environment serves all. An empty one is not set.
 */
export function findUnknownSettings(env: Record<string, string | undefined>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('TRIBUTARY_') && env[name] && !known.includes(withoutPart(name)))
    .sort()
    .map((name) => `  ${name} is no setting${suggestion(name)}`)
}

function suggestion(name: string): string {
  const nearest = findNearestName(name, known, 'TRIBUTARY_'.length)
  return nearest === null ? ': docs/settings.md lists all.' : `: did you mean ${nearest}?`
}
