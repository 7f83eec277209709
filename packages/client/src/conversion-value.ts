import { badOptions } from './http.ts'
import { bandOf, type CvPostback, type CvSchema, coarseValues } from './skan/bands.ts'

export type { CvPostback, CvSchema } from './skan/bands.ts'

/** Coarse conversion value, from the smallest: `low`, `medium`, `high`. */
export type CoarseValue = (typeof coarseValues)[number]

/** The arguments of `UpdateConversionValue`. */
export interface ConversionValueCall {
  /** A whole number from 0 to 63. */
  fineValue: number
  coarseValue?: CoarseValue | null | undefined
  /** True ends the current postback window with this value. */
  lockWindow?: boolean | undefined
}

/** The device that runs the app. */
export interface Device {
  /** `ios`; other systems have no conversion values. */
  os: string
  /** Such as `17.4.1`. */
  os_version: string
}

/** The values that an app hands to Apple. AdAttributionKit gets nothing: on iOS 17.4 and later Apple reads the values of SKAdNetwork. */
export interface SkanUpdate {
  /** `skan4`: `updatePostbackConversionValue`; `legacy`: `updateConversionValue`, which takes the fine value alone. */
  api: 'skan4' | 'legacy'
  fine: number
  coarse: CoarseValue | null
  lock_window: boolean
}

/**
 * The values that a call of `UpdateConversionValue` hands to Apple on this device: all of them from iOS 16.1, the fine value from iOS 14,
 * nothing (null) elsewhere. It needs no schema. Throws TributaryError `bad_options`.
 */
export function skanUpdate(call: ConversionValueCall, device: Device): SkanUpdate | null {
  const { fineValue: fine, coarseValue: coarse = null, lockWindow: lock_window = false } = call
  if (!Number.isInteger(fine) || fine < 0 || fine > 63)
    throw badOptions('fineValue must be a whole number from 0 to 63.')
  if (coarse !== null && !coarseValues.includes(coarse))
    throw badOptions('coarseValue must be low, medium, high or null.')
  if (typeof lock_window !== 'boolean') throw badOptions('lockWindow must be true or false.')
  const api = skanOf(device)
  if (api === null) return null
  return api === 'skan4' ? { api, fine, coarse, lock_window } : { api, fine, coarse: null, lock_window: false }
}

function skanOf({ os, os_version }: Device): SkanUpdate['api'] | null {
  const [major = Number.NaN, minor = 0] = os_version.split('.').map(Number)
  if (os.toLowerCase() !== 'ios' || !(major >= 14)) return null
  return major > 16 || (major === 16 && minor >= 1) ? 'skan4' : 'legacy'
}

/** The activity of an install so far. */
export interface InstallActivity {
  /** First launch, Unix epoch ms: Apple's windows begin there. */
  installed_at_ms: number
  /** Negative revenue is a refund. */
  events: readonly { event_name: string; event_ts_ms: number; revenue_usd?: number | null | undefined }[]
}

/** An update that the schema chose, for the conversion window of this sequence index. */
export interface AutomaticUpdate extends SkanUpdate {
  sequence_index: 0 | 1 | 2
}

/**
 * The update that the schema of the app asks for, null when there is none to send: no schema, no window any more, no band
 * that holds, the window locked by `last`, or nothing new since `last`, the update before. Events and revenue count for
 * the window in which they happen; before iOS 16.1 there is one window, and a value can only grow. Of the bands that hold
 * the highest value counts. No value is sent that the schema would read otherwise: Apple's call needs a fine value, so it
 * is 0 where no fine band holds, and nothing is sent where 0 has a meaning that does not hold.
 */
export function automaticUpdate(
  schema: CvSchema | null,
  activity: InstallActivity,
  { device, now_ms, last = null }: { device: Device; now_ms: number; last?: AutomaticUpdate | null | undefined },
): AutomaticUpdate | null {
  const api = skanOf(device)
  const window = api === null ? undefined : windowAt(api, now_ms - activity.installed_at_ms)
  const postback = schema?.postbacks.find((one) => one.postback_sequence_index === window?.index)
  if (api === null || window === undefined || postback === undefined) return null
  const call = callOf(postback, doneIn(window, activity, now_ms))
  const update = call === null ? null : skanUpdate(call, device)
  if (update === null) return null
  return isNew(update, window.index, last) ? { ...update, sequence_index: window.index } : null
}

const hour_ms = 3_600_000

interface Window {
  index: 0 | 1 | 2
  /** Since the install, ms; the end is exclusive. */
  from_ms: number
  to_ms: number
}

/** Apple's windows. */
const windows: readonly Window[] = [
  { index: 0, from_ms: 0, to_ms: 48 * hour_ms },
  { index: 1, from_ms: 48 * hour_ms, to_ms: 168 * hour_ms },
  { index: 2, from_ms: 168 * hour_ms, to_ms: 840 * hour_ms },
]
/** Before iOS 16.1 Apple ends the window by a timer that each update prolongs. */
const legacyWindow: Window = { index: 0, from_ms: 0, to_ms: Number.POSITIVE_INFINITY }

function windowAt(api: SkanUpdate['api'], since_ms: number): Window | undefined {
  if (api === 'legacy') return since_ms < 0 ? undefined : legacyWindow
  return windows.find(({ from_ms, to_ms }) => since_ms >= from_ms && since_ms < to_ms)
}

/** Events of the window until now, and their revenue in whole millionths of a USD. */
function doneIn({ from_ms, to_ms }: Window, { installed_at_ms, events }: InstallActivity, now_ms: number) {
  const inside = events.filter(({ event_ts_ms }) => {
    const since_ms = event_ts_ms - installed_at_ms
    return since_ms >= from_ms && since_ms < to_ms && event_ts_ms <= now_ms
  })
  const micros = inside.reduce((sum, { revenue_usd }) => sum + Math.round((revenue_usd ?? 0) * 1e6), 0)
  return { names: new Set(inside.map(({ event_name }) => event_name)), revenue_usd: micros / 1e6 }
}

function callOf(
  { fine, coarse, lock_window }: CvPostback,
  done: ReturnType<typeof doneIn>,
): ConversionValueCall | null {
  const fineValue = bandOf(fine ?? [], done, (value) => value)
  const coarseValue = bandOf(coarse ?? [], done, (value) => coarseValues.indexOf(value))
  if (fineValue === null && coarseValue === null) return null
  if (fineValue === null && fine?.some(({ value }) => value === 0)) return null
  return { fineValue: fineValue ?? 0, coarseValue, lockWindow: lock_window ?? false }
}

function isNew(update: SkanUpdate, index: number, last: AutomaticUpdate | null): boolean {
  if (last === null || last.sequence_index !== index) return true
  if (update.api === 'legacy') return update.fine > last.fine
  return !last.lock_window && (update.fine !== last.fine || update.coarse !== last.coarse)
}
