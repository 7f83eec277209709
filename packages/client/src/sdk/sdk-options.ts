import type { SdkEvent } from '../events.ts'
import type { Backoff } from '../retry.ts'
import type { EventStorage } from '../storage.ts'
import type { TributaryError } from '../tributary-error.ts'
import type { SdkCredentials } from './sdk-post.ts'

/** An event that the service did not take and that is not sent again. */
export interface RejectedEvent {
  /** The event as it was tracked, with its ids. */
  event: Record<string, unknown>
  /**
   * The service's reason for the event (`bad_event_id`, `missing_required_fields`, ...), the code of a refused request
   * (`bad_signature`, ...), or one of the client's own reasons: `queue_full`, `no_json`, `closed`.
   */
  reason: string
  field: string | null
}

export interface SdkClientOptions extends SdkCredentials {
  storage: EventStorage
  /** The id of an existing install. Default: the client makes one and keeps it. */
  install_uuid?: string | undefined
  /** `ios` or `android`: the `platform` of events without one, and `X-Service-Platform`. */
  platform?: string | undefined
  app_version?: string | undefined
  /** `device` of each event, such as `{os, os_version, model}`. An event's own fields replace these. */
  device?: Record<string, unknown> | undefined
  /** `X-Service-Sdk`, `<brand>-<version>`. */
  sdk?: string | undefined
  /** A request starts at once when this many events wait. Default: 20. */
  flush_events?: number | undefined
  /** Longest time that an event waits for others. Default: 5 s. */
  flush_interval_ms?: number | undefined
  /** Limits of the queue; beyond them it drops the oldest events. Default: 10 000 events and 4 MiB. */
  queue_events_max?: number | undefined
  queue_bytes_max?: number | undefined
  /** Pauses between attempts. Default: up to 1 s at first, doubling up to 5 minutes. */
  backoff?: Partial<Backoff> | undefined
  /** Timeout of one request. Default: 30 s. */
  timeout_ms?: number | undefined
  fetch?: typeof globalThis.fetch | undefined
  now?: (() => number) | undefined
  onRejected?: ((rejected: RejectedEvent) => void) | undefined
  /** Called when a request or the storage failed. Lost events are reported to `onRejected`. */
  onError?: ((error: TributaryError) => void) | undefined
}

/** No method throws or rejects: analytics never crash an app. */
export interface SdkClient {
  /** Queues an event. Resolves with its `event_id` once storage has it. */
  track(event: SdkEvent): Promise<string>
  /** Tracks `app_install`, only once per install. False when it was tracked before. */
  trackInstall(props?: Record<string, unknown>): Promise<boolean>
  /** Sets the user of all later events, null for nobody. A new user also sends `_user_alias`. */
  setUser(user_id: string | null): Promise<void>
  /** Tracks a `_crash` for an unhandled exception, at most one a minute. False when it came too soon. */
  reportCrash(error: unknown, props?: Record<string, unknown>): Promise<boolean>
  installUuid(): Promise<string>
  /** Sends the queue now. Resolves once it is empty or a request failed. `pending` events still wait. */
  flush(): Promise<{ pending: number }>
  /** Flushes for at most `timeout_ms` (5 s), then ends. Pending events stay in storage for the next client. */
  close(options?: { timeout_ms?: number }): Promise<{ pending: number }>
}
