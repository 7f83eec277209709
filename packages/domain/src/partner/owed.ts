import type { Decision } from '@tributary/contracts/attribution/decision'
import { imported, organic, type Verdict } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { install_postback, type PostbackContent, type PostbackSettings } from '@tributary/contracts/partner-postback'

/** The parts of a decision that the rules of what is owed read. */
export type DecidedInstall = Pick<
  Decision,
  'app_id' | 'install_uuid' | 'installed_at_ms' | 'received_at_ms' | 'dated_at_ms' | 'decided_at_ms' | 'verdict'
>

/** An event that counts, of the install. */
export interface CountedEvent {
  /** Names it among the events of the install. */
  event_key: string
  event_name: string
  /** As sent, Unix epoch ms. */
  event_ts_ms: number
  /** The same, corrected by the clock of its sender. */
  corrected_ts_ms: number
  received_at_ms: number
  /** What `isErased` compares with a mark. */
  dated_at_ms: number
  /** As sent; null without money. */
  revenue: number | null
  /** As counted; null without money. */
  currency: string | null
}

/** Settings of a partner with the name of their version. */
export interface SettingsVersion extends PostbackSettings {
  settings_id: string
}

/** Settings of a partner of the app that held at a time, Unix epoch ms; null without any. */
export type SettingsAt = (partner: string, at_ms: number) => SettingsVersion | null

/** A postback that a partner is owed. Its key is partner, app, install and `event_key`. */
export interface OwedPostback {
  partner: string
  event_key: string
  settings_id: string
  content: PostbackContent
  received_at_ms: number
  dated_at_ms: number
}

interface Evidence {
  /** All decisions on an install, the oldest first. */
  decisions: readonly DecidedInstall[]
  events: readonly CountedEvent[]
  settingsAt: SettingsAt
  now_ms: number
}

type Decided = DecidedInstall & { verdict: Verdict; since_ms: number }

/**
 * All that is owed for an install (docs/rules.md#what-a-partner-is-owed). It follows from decisions, events and settings, whatever was
 * known first: each of the two consumers computes it again when it reads something new, and adds what is not owed yet.
 */
export function owedOf({ decisions, events, settingsAt, now_ms }: Evidence): OwedPostback[] {
  const decided = withSince(decisions)
  const oldest_ms = now_ms - limits.partner_owed_ms_max
  const owed: OwedPostback[] = []
  const newest = decided.at(-1)
  // A decision that waits for a click takes the partner away again until there is another one.
  if (newest !== undefined && decisions.at(-1)?.verdict !== null && newest.received_at_ms >= oldest_ms) {
    const settings = settingsOf(newest, newest.since_ms, settingsAt, install_postback)
    if (settings !== null) owed.push(ofInstall(newest, settings))
  }
  for (const event of events) {
    // Its name stands for the install, which is owed once: an app may send any number of events of that name.
    if (event.event_name === install_postback || event.received_at_ms < oldest_ms) continue
    const owner = ownerOf(decided, event.received_at_ms)
    if (owner === undefined || event.corrected_ts_ms < owner.installed_at_ms) continue
    const at_ms = Math.max(owner.since_ms, event.received_at_ms)
    const settings = settingsOf(owner, at_ms, settingsAt, event.event_name)
    if (settings !== null) owed.push(ofEvent(owner, event, settings))
  }
  return owed
}

/** Verdicts, and since when each one's partner has had the install without a pause. */
function withSince(decisions: readonly DecidedInstall[]): Decided[] {
  const decided: Decided[] = []
  for (const decision of decisions) {
    const { verdict, decided_at_ms } = decision
    if (verdict === null) continue
    const before = decided.at(-1)
    const since_ms =
      before?.verdict.partner === verdict.partner && sends(before.verdict) ? before.since_ms : decided_at_ms
    decided.push({ ...decision, verdict, since_ms })
  }
  return decided
}

/** The verdict that was the newest when an event was received; the first one for what came before it. */
const ownerOf = (decided: readonly Decided[], received_at_ms: number): Decided | undefined =>
  decided.findLast(({ decided_at_ms }) => decided_at_ms <= received_at_ms) ?? decided[0]

const sends = ({ attribution_type, reinstall }: Verdict): boolean =>
  attribution_type !== organic && attribution_type !== imported && !reinstall

function settingsOf({ verdict }: Decided, at_ms: number, settingsAt: SettingsAt, name: string): SettingsVersion | null {
  if (!sends(verdict)) return null
  const settings = settingsAt(verdict.partner, at_ms)
  if (settings === null || !settings.events.includes(name)) return null
  return verdict.fraud_flags.length > 0 && settings.flagged === 'skip' ? null : settings
}

type InstallOfVerdict = Pick<Decided, 'install_uuid' | 'verdict' | 'installed_at_ms'>

const ofVerdict = ({ install_uuid, verdict }: InstallOfVerdict) => ({
  ...{ click_id: verdict.click_id, ext_click_id: verdict.ext_click_id, sub1: verdict.sub1, sub2: verdict.sub2 },
  ...{ sub3: verdict.sub3, sub4: verdict.sub4, sub5: verdict.sub5, install_uuid },
  reject_reason: verdict.fraud_flags.length === 0 ? null : verdict.fraud_flags.join(','),
})

/** The postback of a new install. */
function ofInstall(decided: Decided, { settings_id }: SettingsVersion): OwedPostback {
  const { verdict, received_at_ms, dated_at_ms = received_at_ms } = decided
  return {
    ...{ partner: verdict.partner, event_key: install_postback, settings_id, received_at_ms },
    dated_at_ms: Math.min(received_at_ms, dated_at_ms),
    content: installContent(decided),
  }
}

/** The content of the postback of an install that has a verdict, as a preview shows it too. */
export const installContent = (decided: InstallOfVerdict): PostbackContent => ({
  ...ofVerdict(decided),
  ...{ event_name: install_postback, revenue: null, currency: null, event_ts_ms: decided.installed_at_ms },
})

function ofEvent(owner: Decided, event: CountedEvent, { settings_id }: SettingsVersion): OwedPostback {
  const { event_key, event_name, event_ts_ms, received_at_ms, dated_at_ms, revenue, currency } = event
  return {
    ...{ partner: owner.verdict.partner, event_key, settings_id, received_at_ms, dated_at_ms },
    content: { ...ofVerdict(owner), event_name, revenue, currency, event_ts_ms },
  }
}
