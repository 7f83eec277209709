import type { SdkEvent } from '../events.ts'
import type { Backoff } from '../retry.ts'
import type { EventStorage } from '../storage.ts'
import type { TributaryError } from '../tributary-error.ts'
import type { SdkCredentials } from './sdk-post.ts'

/** An event that the service does not have and will not be sent again. */
export interface RejectedEvent {
  /** As it was tracked, with its ids. */
  event: Record<string, unknown>
  /**
   * The service's per-event reason (`bad_event_id`, `missing_required_fields`, ...), the code of a request refused for
   * good (`bad_signature`, ...), or one of the client's own: `queue_full`, `no_json`, `closed`.
   */
  reason: string
  field: string | null
}

export interface SdkClientOptions extends SdkCredentials {
  storage: EventStorage
  /** Of an install that has one already; otherwise the client makes and keeps its own. */
  install_uuid?: string | undefined
  /** `ios` or `android`: `platform` of events that name none, and `X-Service-Platform`. */
  platform?: string | undefined
  app_version?: string | undefined
  /** `device` of each event, such as `{os, os_version, model}`; an event's own fields win. */
  device?: Record<string, unknown> | undefined
  /** `X-Service-Sdk`, `<brand>-<version>`. */
  sdk?: string | undefined
  /** Events waiting that start a request at once; 20 when absent. */
  flush_events?: number | undefined
  /** The longest an event waits for others; 5 s when absent. */
  flush_interval_ms?: number | undefined
  /** What the queue holds before the oldest events give way; 10 000 events and 4 MiB when absent. */
  queue_events_max?: number | undefined
  queue_bytes_max?: number | undefined
  /** Pauses between attempts: up to 1 s at first, doubling up to 5 minutes, when absent. */
  backoff?: Partial<Backoff> | undefined
  /** Of one request; 30 s when absent. */
  timeout_ms?: number | undefined
  fetch?: typeof globalThis.fetch | undefined
  now?: (() => number) | undefined
  onRejected?: ((rejected: RejectedEvent) => void) | undefined
  /** A request or the storage failed. Nothing is lost by it but what `onRejected` tells too. */
  onError?: ((error: TributaryError) => void) | undefined
}

/** None of the methods throws or rejects: an app never dies of its analytics. */
export interface SdkClient {
  /** Keeps an event to be sent; resolves with its `event_id` once storage has it. */
  track(event: SdkEvent): Promise<string>
  /** `app_install`, once an install however often it's called; false when it was before. */
  trackInstall(props?: Record<string, unknown>): Promise<boolean>
  /** Who uses the app from now on, null for nobody. A new user fires `_user_alias`; each event carries the `user_id`. */
  setUser(user_id: string | null): Promise<void>
  /** `_crash` of an unhandled exception, at most one a minute; false when it was too soon. */
  reportCrash(error: unknown, props?: Record<string, unknown>): Promise<boolean>
  installUuid(): Promise<string>
  /** Sends what waits now; resolves when it's answered or the first request failed. `pending` events still wait. */
  flush(): Promise<{ pending: number }>
  /** Flushes for at most `timeout_ms` (5 s), then ends. What is pending stays in storage for the next client. */
  close(options?: { timeout_ms?: number }): Promise<{ pending: number }>
}
