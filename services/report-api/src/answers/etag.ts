import { createHash } from 'node:crypto'

/** A weak entity tag (RFC 9110 8.8.3) of what an answer says. */
export const weakTag = (content: string): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`

/** Whether `If-None-Match` names the tag; weak comparison (RFC 9110 13.1.2). */
export function isKnown(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = tag.replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([known]) => known === opaque)
}
