import { distance } from 'fastest-levenshtein'
import { foreignSettings, settings } from './settings.ts'

const known: readonly string[] = [...Object.keys(settings), ...foreignSettings]

/**
 * One line for each `TRIBUTARY_` variable that nothing reads, with the known name that is nearest, if one is near. Settings of other
 * services are known: one environment serves all. An empty one is not set.
 */
export function findUnknownSettings(env: Record<string, string | undefined>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('TRIBUTARY_') && env[name] && !known.includes(name))
    .sort()
    .map((name) => `  ${name} is no setting${suggestion(name)}`)
}

/** A name of which more than a third is another one is no slip of the keyboard. */
function suggestion(name: string): string {
  const nearest = known.reduce((best, other) => (distance(name, other) < distance(name, best) ? other : best))
  const own_chars = name.length - 'TRIBUTARY_'.length
  const isNear = distance(name, nearest) <= Math.max(2, own_chars / 3)
  return isNear ? `: did you mean ${nearest}?` : ': docs/settings.md lists all.'
}
