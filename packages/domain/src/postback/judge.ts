import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import type { PostbackKeys } from './keys.ts'

/** A postback as it was received: nothing in it is proven. */
export interface UnjudgedPostback {
  protocol: PostbackProtocol
  /** The raw text of the request. */
  body: string
}

/**
 * Says whether a key signed the postback, and what is in it (docs/rules.md#verification-of-postbacks). Never throws for
 * what a stranger sends. Takes about 0.1 ms of CPU for a signed one (a P-256 verification), far less for junk.
 */
export function judgePostback(_received: UnjudgedPostback, _keys: PostbackKeys): JudgedPostback {
  throw new Error('not built')
}
