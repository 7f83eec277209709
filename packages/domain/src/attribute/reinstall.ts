import type { Place } from '@tributary/contracts/attribution/found'
import { byTime, type InstallClues } from './verdict.ts'

/** A user id that an install told, with its install event or later with a `_user_alias`. */
export interface UserOfInstall {
  user_id: string
  received_at_ms: number
  place: Place
}

/** Another install of the same app. */
export interface OtherInstall {
  installed_at_ms: number
  place: Place
  device_hashes: readonly string[]
  users: readonly UserOfInstall[]
}

/**
 * Whether the same device or user had an install of the app in the window before this one; an earlier reinstall counts too.
 * Only what was told of the earlier install before this one was received says who its user was.
 */
export function isReinstall(
  install: InstallClues & { user_id: string | null },
  others: readonly OtherInstall[],
  window_ms: number,
): boolean {
  const received = { at_ms: install.received_at_ms, place: install.place }
  const ownsUser = ({ users }: OtherInstall) =>
    users.some(({ user_id, received_at_ms, place }) => {
      return user_id === install.user_id && byTime({ at_ms: received_at_ms, place }, received) < 0
    })
  return others.some((other) => {
    const age_ms = install.installed_at_ms - other.installed_at_ms
    if (age_ms >= window_ms || byTime(inTime(other), inTime(install)) >= 0) return false
    return other.device_hashes.some((device) => install.device_hashes.includes(device)) || ownsUser(other)
  })
}

const inTime = ({ installed_at_ms, place }: { installed_at_ms: number; place: Place }) => ({
  at_ms: installed_at_ms,
  place,
})
