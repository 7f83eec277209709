import { limits } from '@tributary/contracts/limits'
import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { judgeAak } from './aak.ts'
import { judged } from './finding.ts'
import type { PostbackKeys } from './keys.ts'
import { judgeSkan } from './skan.ts'

/** A postback as it was received. Nothing in it is proven. */
export type UnjudgedPostback = Pick<PostbackReceived, 'protocol' | 'body'>

/**
 * Says whether a key signed the postback, and what is in it (docs/rules.md#proof-of-postbacks). Never throws for what a
 * stranger sends. Takes about 0.1 ms of CPU for a signed one (a P-256 verification), far less for junk.
 */
export function judgePostback({ protocol, body }: UnjudgedPostback, keys: PostbackKeys): JudgedPostback {
  if (Buffer.byteLength(body) > limits.postback_body_bytes_max) return judged(protocol, {}, { code: 'too_large' })
  return protocol === 'skan' ? judgeSkan(body, keys) : judgeAak(body, keys)
}
