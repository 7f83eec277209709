import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A secret that is shown once: 256 random bits need no salt where they are stored. */
export const makeToken = (prefix: string): string => `${prefix}_${randomBytes(32).toString('base64url')}`

/** An id that is no secret. */
export const makeId = (prefix: string): string => `${prefix}_${randomBytes(10).toString('hex')}`

/** How a table holds a secret. */
export const tokenHash = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Derived, so that a session needs no second secret; the cookie itself is closed to scripts. */
export const csrfToken = (session: string): string => hash('sha256', `csrf ${session}`, 'base64url')

export const isCsrfToken = (given: string, session: string): boolean =>
  timingSafeEqual(tokenHash(given), tokenHash(csrfToken(session)))
