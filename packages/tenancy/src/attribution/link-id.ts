import { randomInt } from 'node:crypto'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const chars = 12

/** 12 random letters and digits, 71 bits. A - would read as an option on a command line. */
export const makeLinkId = (): string => Array.from({ length: chars }, () => letters[randomInt(letters.length)]).join('')

/** An id that no link can have is unknown, and never reaches a query. */
export const linkIdShape = /^[A-Za-z0-9]{12}$/
