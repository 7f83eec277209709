import { hash } from 'node:crypto'
import type { Click } from '@tributary/contracts/attribution/click'
import type { Fact } from '@tributary/contracts/attribution/found'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'

/** What a click and an install, or two installs, may have in common. */
export type MatchKind = 'click' | 'device' | 'user' | 'address' | 'network' | 'block'

/**
 * Key of the tables that look clicks and installs up by what they have in common: first 8 bytes of SHA-256, as an unsigned
 * 64-bit decimal. Two values may share a key: whoever finds something by it compares the values too.
 */
export const matchKey = (kind: MatchKind, value: string): string =>
  BigInt(`0x${hash('sha256', `${kind}\0${value}`, 'hex').slice(0, 16)}`).toString()

/** Keys of a click. A hit of a honeypot blocks addresses and matches nothing. */
export function clickKeys({ filtered_reason, device_hashes, ip }: Click): string[] {
  if (filtered_reason === 'honeypot') return [matchKey('block', addressBlock(ip))]
  return [...device_hashes.map((device) => matchKey('device', device)), matchKey('address', ip)]
}

/** Keys of a fact. Only installs of an SDK stand for their network and their block: a backend's are not judged by these. */
export function factKeys(fact: Fact): string[] {
  if (fact.kind === 'alias') return [matchKey('user', fact.user_id)]
  const { referrer, named_click, device_hashes, user_id, ip, is_sdk } = fact
  const clicks = [referrer, named_click].flatMap((token) => (token === null ? [] : [matchKey('click', token.click_id)]))
  const devices = device_hashes.map((device) => matchKey('device', device))
  const users = user_id === null ? [] : [matchKey('user', user_id)]
  const addresses = ip === null ? [] : [matchKey('address', ip)]
  const judged =
    is_sdk && ip !== null ? [matchKey('network', addressNetwork(ip)), matchKey('block', addressBlock(ip))] : []
  return [...new Set([...clicks, ...devices, ...users, ...addresses, ...judged])]
}
