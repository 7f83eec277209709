import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { clickIdShape } from '@tributary/contracts/attribution/click'
import type { ClickToken } from '@tributary/contracts/attribution/found'

/** Hex digits of the signature in a token. */
const signature_chars = 12

/** `<click_id>.<12 hex of HMAC-SHA256>`, keyed with the link secret of the app: what a store or a deep link carries. */
export const signClickId = (click_id: string, link_secret: Buffer | KeyObject): string =>
  `${click_id}.${signatureOf(click_id, link_secret)}`

/** Reads what an app sent as a click id, signed or bare; null when it is none of ours in form. */
export function readClickToken(text: string, link_secret: Buffer): ClickToken | null {
  const [click_id = '', signature, ...rest] = text.split('.')
  if (!clickIdShape.test(click_id) || rest.length > 0) return null
  if (signature === undefined) return { click_id, signature: 'absent' }
  const given = Buffer.from(signature)
  const expected = Buffer.from(signatureOf(click_id, link_secret))
  const valid = given.length === expected.length && timingSafeEqual(given, expected)
  return { click_id, signature: valid ? 'valid' : 'forged' }
}

/** Milliseconds inside a UUIDv7: when the click was recorded. */
export const clickTime = (click_id: string): number => Number.parseInt(click_id.replaceAll('-', '').slice(0, 12), 16)

const signatureOf = (click_id: string, link_secret: Buffer | KeyObject): string =>
  createHmac('sha256', link_secret).update(click_id).digest('hex').slice(0, signature_chars)
