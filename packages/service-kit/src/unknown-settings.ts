import { distance } from 'fastest-levenshtein'
import { foreignSettings, settings } from './settings.ts'

const known: readonly string[] = [...Object.keys(settings), ...foreignSettings]

/**
 * One line for each `TRIBUTARY_` variable that nothing reads, with the known name that is nearest. Settings of other
 * services are known: one environment serves all. An empty one is not set.
 */
export function findUnknownSettings(env: Record<string, string | undefined>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('TRIBUTARY_') && env[name] && !known.includes(name))
    .sort()
    .map((name) => `  ${name} is no setting: did you mean ${nearest(name)}?`)
}

const nearest = (name: string): string =>
  known.reduce((best, other) => (distance(name, other) < distance(name, best) ? other : best))
