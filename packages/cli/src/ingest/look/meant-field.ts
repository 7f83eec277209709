import { type EventFieldName, eventFieldNames } from '@tributary/contracts/event-fields'
import { findNearestName } from '@tributary/service-kit/settings/nearest-name'

/** Whether events have a top-level field of this name. */
export const isEventField = (name: string): boolean => (eventFieldNames as readonly string[]).includes(name)

/** Whether a column fills something that events have. `props.NAME` and `device.NAME` of a column go into those objects. */
export const isColumnField = (name: string): boolean => isEventField(name) || /^(props|device)\../s.test(name)

/** Names that other systems give to a field, and that are spelled unlike it. */
const otherNames: Partial<Record<EventFieldName, readonly string[]>> = {
  event_id: ['id'],
  event_name: ['event', 'name', 'type'],
  event_ts_ms: ['time', 'timestamp', 'ts', 'date', 'when', 'created_at', 'event_time'],
  install_uuid: ['install', 'install_id', 'device_id'],
  user_id: ['user', 'customer', 'customer_id'],
  transaction_id: ['transaction', 'order', 'order_id', 'payment_id'],
  product_id: ['product', 'sku', 'item_id'],
  revenue: ['amount', 'price', 'value', 'total', 'sum', 'money'],
  currency: ['currency_code', 'iso_currency'],
}
const fieldOf = new Map(Object.entries(otherNames).flatMap(([field, names]) => names.map((name) => [name, field])))

/** The event field that a name of another spelling probably means; null if none is near. */
export function findMeantField(name: string): string | null {
  const plain = name
    .trim()
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .toLowerCase()
    .replace(/[\s.-]+/g, '_')
  return fieldOf.get(plain) ?? findNearestName(plain, eventFieldNames)
}
