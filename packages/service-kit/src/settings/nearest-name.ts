import { distance } from 'fastest-levenshtein'

/**
 * The known name that a mistyped one is nearest to, null if none is near: a name of which more than a third is another one
 * is no slip of the keyboard. `shared_chars` of every name are the same and say nothing.
 */
export function findNearestName(name: string, known: readonly string[], shared_chars = 0): string | null {
  const nearest = known.reduce((best, other) => (distance(name, other) < distance(name, best) ? other : best))
  const own_chars = name.length - shared_chars
  return distance(name, nearest) <= Math.max(2, own_chars / 3) ? nearest : null
}
