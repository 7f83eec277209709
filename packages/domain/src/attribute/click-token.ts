import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { clickIdShape } from '@tributary/contracts/attribution/click'
import type { ClickToken } from '@tributary/contracts/attribution/found'

/** Hex digits of the signature in a token. */
const signature_chars = 12

/** `<click_id>.<12 hex of HMAC-SHA256>`, keyed with the link secret of the app: what a store or a deep link carries. */
export const signClickId = (click_id: string, link_secret: Buffer | KeyObject): string =>
  `${click_id}.${signatureOf(click_id, link_secret)}`

/**
 * Reads the text that an app sent as a click id; null when it does not have the form of ours. A bare id is in lower
 * case. An id in any case with a dot after it is forged, unless the whole text is what `signClickId` makes.
 */
export function readClickToken(text: string, link_secret: Buffer): ClickToken | null {
  const dot = text.indexOf('.')
  if (dot < 0) return clickIdShape.test(text) ? { click_id: text, signature: 'absent' } : null
  const click_id = text.slice(0, dot).toLowerCase()
  if (!clickIdShape.test(click_id)) return null
  const given = Buffer.from(text)
  const expected = Buffer.from(signClickId(click_id, link_secret))
  const valid = given.length === expected.length && timingSafeEqual(given, expected)
  return { click_id, signature: valid ? 'valid' : 'forged' }
}

/** Milliseconds inside a UUIDv7: when the click was recorded. */
export const clickTime = (click_id: string): number => Number.parseInt(click_id.replaceAll('-', '').slice(0, 12), 16)

const signatureOf = (click_id: string, link_secret: Buffer | KeyObject): string =>
  createHmac('sha256', link_secret).update(click_id).digest('hex').slice(0, signature_chars)
