import {
  type JudgedPostback,
  type JudgedReason,
  judgedReasons,
  type PostbackVerdict,
} from '@tributary/contracts/postback/judged'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'

/** What keeps a postback from being valid, and the field that it is about. */
export interface Fault {
  code: JudgedReason
  field?: string
}

const verdictOf = new Map<string, PostbackVerdict>(
  Object.entries(judgedReasons).flatMap(([verdict, codes]) => codes.map((code) => [code, verdict as PostbackVerdict])),
)

/** The verdict of a fault, with its reason in the written form. */
export function faulty({ code, field }: Fault): Pick<JudgedPostback, 'verdict' | 'reason'> {
  return { verdict: verdictOf.get(code) ?? 'invalid', reason: field === undefined ? code : `${code}:${field}` }
}

/** A postback of which nothing could be read. */
export const unread = (protocol: PostbackProtocol, fault: Fault): JudgedPostback => ({
  protocol,
  ...faulty(fault),
  ...{ environment: null, key: null, version: '', network: '', postback_id: '', sequence_index: 0 },
  ...{ advertised_item_id: '', publisher_item_id: '', source: '', redownload: null, re_engagement: false },
  ...{ did_win: null, fidelity_type: null, fine: null, coarse: null, country: null },
})
