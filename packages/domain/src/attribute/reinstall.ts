import type { Place } from '@tributary/contracts/attribution/found'
import { byInstall, byTime, type InstallClues } from './verdict.ts'

/** A user id that a `_user_alias` gave an install. */
export interface AliasOfInstall {
  user_id: string
  received_at_ms: number
  place: Place
}

/** Another install of the same app. */
export interface OtherInstall {
  installed_at_ms: number
  place: Place
  device_hashes: readonly string[]
  /** User of its install event. */
  user_id: string | null
  aliases: readonly AliasOfInstall[]
}

/**
 * Whether the same device or user had an install of the app in the window before this one (docs/rules.md#reinstall); an
 * earlier reinstall counts too. An alias of the earlier install counts when it was received before this one.
 */
export function isReinstall(
  install: InstallClues & { user_id: string | null },
  others: readonly OtherInstall[],
  window_ms: number,
): boolean {
  const received = { at_ms: install.received_at_ms, place: install.place }
  const isUserOf = ({ user_id, aliases }: OtherInstall) =>
    user_id === install.user_id ||
    aliases.some((alias) => {
      return (
        alias.user_id === install.user_id && byTime({ at_ms: alias.received_at_ms, place: alias.place }, received) < 0
      )
    })
  return others.some((other) => {
    const age_ms = install.installed_at_ms - other.installed_at_ms
    if (age_ms >= window_ms || byInstall(other, install) >= 0) return false
    const sameDevice = other.device_hashes.some((device) => install.device_hashes.includes(device))
    return sameDevice || (install.user_id !== null && isUserOf(other))
  })
}
