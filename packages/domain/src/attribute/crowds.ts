import { limits } from '@tributary/contracts/limits'
import { firstIndex } from '../first-index.ts'
import { clickTime } from './click-token.ts'
import { addressKey, deviceKeys, matchKey, modelsFor } from './match-keys.ts'
import { byInstall, type Claim, type Crowds, type InstallClues } from './verdict.ts'

type KeyedClues = Pick<InstallClues, 'installed_at_ms' | 'crowds'>

/** Whether a key is crowded for an install: at least `crowd_facts` facts had it shortly before. */
export const isCrowded = ({ installed_at_ms, crowds }: KeyedClues, match_key: string): boolean =>
  isCrowdedAt(installed_at_ms, crowds?.get(match_key))

export const isCrowdedAt = (installed_at_ms: number, crowd_ms: number | undefined): boolean =>
  crowd_ms !== undefined && installed_at_ms - crowd_ms < limits.crowd_window_ms

/**
 * Whether earlier installs hide a click from an install that names it: its id is crowded, or as many named it since the
 * click.
 */
export function isHiddenClick(install: KeyedClues, click_id: string): boolean {
  const crowd_ms = install.crowds?.get(matchKey('click', click_id))
  return crowd_ms !== undefined && (isCrowdedAt(install.installed_at_ms, crowd_ms) || crowd_ms >= clickTime(click_id))
}

/** Keys by which an install may find a click: of its devices and of the clicks that it names, or of its address. */
export function clueKeys(install: Omit<InstallClues, 'crowds'>): { own: string[]; addresses: string[] } {
  const { referrer, named_click, ip, os_major, model } = install
  const named = [referrer, named_click].flatMap((token) => (token === null ? [] : [matchKey('click', token.click_id)]))
  const addresses = ip === null || os_major === null ? [] : modelsFor(model).map((one) => addressKey(ip, os_major, one))
  return { own: [...new Set([...deviceKeys(install), ...named])], addresses }
}

/** Whether an install has a device, a user or a click id that is crowded. */
export const hasCrowdedKey = (install: Omit<InstallClues, 'crowds'> & { user_id: string | null }, crowds: Crowds) =>
  [...clueKeys(install).own, ...(install.user_id === null ? [] : [matchKey('user', install.user_id)])].some((key) =>
    isCrowdedAt(install.installed_at_ms, crowds.get(key)),
  )

/**
 * Gives the facts by which an install may find a click, without crowded devices and click ids, which match none. A
 * click id with a wrong signature stays, because it flags the install, but its click is not looked up (`namedClicks`).
 */
export function withCrowds<Install extends InstallClues>(install: Install, crowds: Crowds): Install {
  if (crowds.size === 0) return install
  const seen = { ...install, crowds }
  const openToken = (token: Install['referrer']) =>
    token !== null && token.signature !== 'forged' && isHiddenClick(seen, token.click_id) ? null : token
  return {
    ...seen,
    device_hashes: install.device_hashes.filter((device) => !isCrowded(seen, matchKey('device', device))),
    referrer: openToken(install.referrer),
    named_click: openToken(install.named_click),
  }
}

/** Where an install stands among the facts of a key: the number of rows before it. */
export const rankOf = (rows: readonly Claim[], install: Claim): number =>
  firstIndex(rows, (row) => byInstall(row, install) >= 0)

/** Install time of the `crowd_facts`th fact before an install, among the facts of a key in the order of `byInstall`; undefined without so many. */
export const crowdOf = (rows: readonly Claim[], install: Claim): number | undefined =>
  rows[rankOf(rows, install) - limits.crowd_facts]?.installed_at_ms
