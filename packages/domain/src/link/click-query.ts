import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import type { DeviceIdKind } from '../attribute/device-ids.ts'

/** The values in the query of a click. */
export interface ClickQuery extends Pick<Click, 'ext_click_id' | 'sub1' | 'sub2' | 'sub3' | 'sub4' | 'sub5'> {
  mobile_only: boolean
  /** Device ids as they were sent. */
  device: Record<DeviceIdKind, string | null>
}

/** Reads the query of a click; the first of equal names counts. Values are made well-formed and cut to `click_value_chars_max`. */
export function readClickQuery(query: string): ClickQuery {
  const values = new URLSearchParams(query)
  const value = (name: string): string | null => cut(values.get(name) ?? '') || null
  return {
    ext_click_id: value('click_id'),
    ...{ sub1: value('sub1'), sub2: value('sub2'), sub3: value('sub3'), sub4: value('sub4'), sub5: value('sub5') },
    mobile_only: values.get('mobile_only') === '1',
    device: { gaid: value('gaid'), idfa: value('idfa'), idfv: value('idfv'), app_set_id: value('app_set_id') },
  }
}

/**
 * Cuts a text to a number of UTF-16 units, between characters: a character that does not fit whole is dropped
 * (docs/rules.md#strings).
 */
const cut = (text: string): string => text.slice(0, limits.click_value_chars_max).replace(/[\uD800-\uDBFF]$/, '')
