import { createHmac } from 'node:crypto'

/** The text that a signature signs: time in Unix seconds, request line and body. */
export interface SignedPostback {
  time_s: number
  method: string
  /** Path and query. */
  path: string
  body: string
}

/** The value of `X-Tributary-Signature` (docs/postbacks.md#verify-the-signature). */
export function postbackSignature(secret: string, { time_s, method, path, body }: SignedPostback): string {
  const text = `${time_s}.${method} ${path}.${body}`
  return `t=${time_s},v1=${createHmac('sha256', secret).update(text).digest('hex')}`
}
