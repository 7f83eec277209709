/** Fields that SDK and backend events share. */
interface EventFields {
  event_name: string
  /** 1 to 128 visible ASCII characters. The client makes one when absent. */
  event_id?: string | null | undefined
  user_id?: string | null | undefined
  /** From -1e9 to 1e9, in `currency`. An amount without `currency` counts as USD. */
  revenue?: number | null | undefined
  /** ISO 4217 alpha-3, in any case. USD when absent. `XTS` and `XXX` are refused. */
  currency?: string | null | undefined
  /** Money with the same `transaction_id` and event name counts once in an app. */
  transaction_id?: string | null | undefined
  product_id?: string | null | undefined
  /** At most 16 KiB as JSON, at most 8 levels deep. */
  props?: Record<string, unknown> | null | undefined
  device?: Record<string, unknown> | null | undefined
  platform?: string | null | undefined
  /** Other fields are stored with the event, 64 KiB together. */
  [field: string]: unknown
}

/** An event as an app tracks it: the client adds `install_uuid`, `event_id` and `event_ts_ms`. */
export interface SdkEvent extends EventFields {
  /** Unix epoch ms. Default: the moment of tracking. */
  event_ts_ms?: number | null | undefined
}

/** An event as a backend sends it. */
export interface ServerEvent extends EventFields {
  /** Unix epoch ms. */
  event_ts_ms: number
  /** The `install_uuid` that the client SDK made. A backend never makes its own. */
  install_uuid: string
}

/** The result of one event. `event_id` is null when the event had no valid one. */
export interface EventResult {
  event_id: string | null
  status: 'accepted' | 'rejected'
  reason?: string | undefined
  field?: string | undefined
  /** A person reads here what was wrong. */
  message?: string | undefined
}

/** The 200 answer of `/s2s/event`. */
export interface ServerEventReply {
  accepted: 1
  event_id: string
  audit_key: string
}
