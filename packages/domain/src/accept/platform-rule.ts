import type { Platform } from '@tributary/contracts/envelope'
import { isJsonObject } from './accept-event.ts'

/**
 * True when an event names the other platform than its app's: `platform`, `props.platform` or `device.os`, in any case.
 * Values other than `ios` and `android` are ignored (docs/rules.md#platform-rule).
 */
export function namesOtherPlatform(event: unknown, platform: Platform): boolean {
  if (!isJsonObject(event)) return false
  const { props, device } = event
  return (
    isOther(event.platform, platform) ||
    (isJsonObject(props) && isOther(props.platform, platform)) ||
    (isJsonObject(device) && isOther(device.os, platform))
  )
}

const other = { ios: 'android', android: 'ios' } as const

const isOther = (value: unknown, platform: Platform): boolean =>
  typeof value === 'string' && value.length <= 7 && value.toLowerCase() === other[platform]
