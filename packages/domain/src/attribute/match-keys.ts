import { hash } from 'node:crypto'
import type { Click } from '@tributary/contracts/attribution/click'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'

/** What a click and an install, or two installs, may have in common. */
export type MatchKind = 'click' | 'device' | 'user' | 'address' | 'address_model' | 'network' | 'block'

/**
 * The key by which tables find clicks and installs that have something in common: first 8 bytes of SHA-256, as an unsigned 64-bit
 * decimal. Two values may share a key, so a reader also compares the values.
 */
export const matchKey = (kind: MatchKind, value: string): string =>
  BigInt(`0x${hash('sha256', `${kind}\0${value}`, 'hex').slice(0, 16)}`).toString()

/**
 * The key of an address and a major version of the system, with a model. The model is null for clicks without one, and
 * absent for clicks of any model.
 */
export const addressKey = (ip: string, os_major: number, model?: string | null): string =>
  model === undefined
    ? matchKey('address', `${ip}\0${os_major}`)
    : matchKey('address_model', `${ip}\0${os_major}\0${model ?? ''}`)

/** The models of clicks that count as alike to an install of this model, as `addressKey` takes them. */
export const modelsFor = (model: string | null): (string | null | undefined)[] =>
  model === null ? [undefined] : [model, null]

/** Keys of a click by its address. It shares one with each install that is alike, and none with others. */
export const clickAddressKeys = ({ ip, os_major, model }: Pick<Click, 'ip' | 'os_major' | 'model'>): string[] =>
  os_major === null ? [] : [addressKey(ip, os_major, model), addressKey(ip, os_major)]

export const deviceKeys = ({ device_hashes }: Pick<Click, 'device_hashes'>): string[] =>
  device_hashes.map((device) => matchKey('device', device))

/**
 * Keys of a click. A hit of a honeypot blocks addresses and matches nothing. A click whose address was blanked has stored its
 * keys.
 */
export function clickKeys(click: Click & Pick<KeptClick, 'match_keys'>): string[] {
  if (click.match_keys !== undefined) return click.match_keys
  if (click.filtered_reason === 'honeypot') return [matchKey('block', addressBlock(click.ip))]
  return [...deviceKeys(click), ...clickAddressKeys(click)]
}

/**
 * Keys of a fact. Only installs of an SDK have keys of their network and block, because these do not count for installs of a
 * backend.
 */
export function factKeys(fact: Fact): string[] {
  if (fact.kind === 'alias') return [matchKey('user', fact.user_id)]
  const { referrer, named_click, user_id, ip, os_major, model, is_sdk } = fact
  const clicks = [referrer, named_click].flatMap((token) => (token === null ? [] : [matchKey('click', token.click_id)]))
  const users = user_id === null ? [] : [matchKey('user', user_id)]
  const addresses = ip === null || os_major === null ? [] : modelsFor(model).map((one) => addressKey(ip, os_major, one))
  const judged =
    is_sdk && ip !== null ? [matchKey('network', addressNetwork(ip)), matchKey('block', addressBlock(ip))] : []
  return [...new Set([...clicks, ...deviceKeys(fact), ...users, ...addresses, ...judged])]
}
