import { CodedError } from '@tributary/contracts/errors'
import { findForbiddenName } from '@tributary/domain/accept/allow-list'
import { namesOtherPlatform } from '@tributary/domain/accept/platform-rule'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'

export type KeyRules = Pick<ServerKeyCredential, 'platform' | 'allowed_events'>

/** The fact of an envelope that its key may state attributions. */
export const statesAttribution = ({ scopes }: Pick<ServerKeyCredential, 'scopes'>) =>
  scopes.includes('attribution:write') ? { states_attribution: true as const } : {}

/** Refuses a whole S2S request before any event is judged: by the platform rule (400), then by the allow-list (403). */
export function requireKeyFits(events: readonly unknown[], { platform, allowed_events }: KeyRules): void {
  if (events.some((event) => namesOtherPlatform(event, platform))) {
    throw new CodedError('s2s_app_platform_mismatch', { message: `The key belongs to an app of platform ${platform}.` })
  }
  if (findForbiddenName(events, allowed_events) !== null) {
    throw new CodedError('event_not_allowed_by_key', { field: 'event_name' })
  }
}
