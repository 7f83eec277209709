import { randomBytes } from 'node:crypto'

/** 72 random bits as 12 characters that a URL takes as they are. */
export const makeLinkId = (): string => randomBytes(9).toString('base64url')

/** What no link can have is unknown, and never reaches a query. */
export const linkIdShape = /^[A-Za-z0-9_-]{12}$/
