import { limits } from '@tributary/contracts/limits'
import {
  type JudgedPostback,
  type JudgedReason,
  judgedReasons,
  type PostbackEnvironment,
  type PostbackVerdict,
} from '@tributary/contracts/postback/judged'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'

/** The key that signed a postback. */
export interface Proof {
  key: string
  environment: PostbackEnvironment
}

/** The reason why a postback is not valid, and the field that it is about. */
export interface Fault {
  code: JudgedReason
  field?: string
}

/** The content of a postback, without the findings about it. */
type Content = Omit<JudgedPostback, 'protocol' | 'verdict' | 'reason' | keyof Proof>

const nothing: Content = {
  ...{ version: '', network: '', postback_id: '', sequence_index: 0, advertised_item_id: '', publisher_item_id: '' },
  ...{ source: '', redownload: null, re_engagement: false, did_win: null, fidelity_type: null },
  ...{ fine: null, coarse: null, country: null },
}

/** The judgement of a postback with this `content`; an absent field could not be read. */
export function judged(protocol: PostbackProtocol, content: Partial<Content>, found: Proof | Fault): JudgedPostback {
  const said = { protocol, ...nothing, ...content }
  if ('key' in found) return { ...said, ...found, verdict: 'valid', reason: 'verified' }
  const { code, field } = found
  const reason = field === undefined ? code : `${code}:${field}`
  const names = { network: shortened(said.network), source: shortened(said.source) }
  return { ...said, ...names, verdict: verdictOf.get(code) ?? 'invalid', reason, key: null, environment: null }
}

/** Strangers choose these texts: the columns and the report must not hold megabytes of them. */
const shortened = (name: string): string => name.slice(0, limits.postback_unproven_chars_max).toWellFormed()

const verdictOf = new Map<string, PostbackVerdict>(
  Object.entries(judgedReasons).flatMap(([verdict, codes]) => codes.map((code) => [code, verdict as PostbackVerdict])),
)
