import type { SdkEvent } from './events.ts'
import { badOptions } from './http.ts'
import { limits } from './limits.ts'
import { pauseMs } from './retry.ts'
import { crashProps } from './sdk/crash-props.ts'
import { EventQueue, type QueuedEvent } from './sdk/event-queue.ts'
import type { SdkClient, SdkClientOptions } from './sdk/sdk-options.ts'
import { createSdkPost } from './sdk/sdk-post.ts'
import { SdkSender } from './sdk/sdk-sender.ts'
import { loadState, type SdkState } from './sdk/sdk-state.ts'
import { TributaryError } from './tributary-error.ts'

export type { SdkEvent } from './events.ts'
export type { RejectedEvent, SdkClient, SdkClientOptions } from './sdk/sdk-options.ts'

/** Makes a client for apps. Throws TributaryError `bad_options`. */
export function createSdkClient(options: SdkClientOptions): SdkClient {
  const { storage, flush_events = 20, flush_interval_ms = 5000, now = Date.now } = options
  const events_max = options.queue_events_max ?? limits.queue_events_max
  const prefix = `tributary.${options.app_key}.`
  const backoff = { first_pause_ms: 1000, pause_ms_max: 300_000, random: Math.random, ...options.backoff }
  const reports = reporters(options)
  const { queue, sender } = createSender(options, reports, { prefix, now, backoff })
  const closing = new AbortController()
  let state: SdkState | null = null
  /** Events that were tracked but are not in the queue yet, because storage is slow or unavailable. */
  let waiting = 0
  /** Runs work one at a time in the order of the calls, so that each event carries the user of its moment. */
  let last: Promise<unknown> = load()

  function inOrder<T>(work: (state: SdkState) => Promise<T>, otherwise: T): Promise<T> {
    const result = last
      .then(() => (state === null ? otherwise : work(state)))
      .catch((error) => {
        reports.onFault(error)
        return otherwise
      })
    last = result
    return result
  }

  /** Retries until storage answers: a new install_uuid would count the device as a second install. */
  async function load(): Promise<void> {
    for (let tries = 1; !closing.signal.aborted; tries += 1) {
      try {
        const found = await loadState(storage, `${prefix}state`, options.install_uuid)
        await queue.load()
        state = found
        if (queue.size > 0) sender.wakeIn(0)
        return
      } catch (error) {
        reports.onFault(error)
        await pause(pauseMs(tries, 0, backoff), closing.signal)
      }
    }
  }

  async function save(): Promise<void> {
    try {
      await storage.set(`${prefix}state`, JSON.stringify(state))
    } catch (error) {
      reports.onFault(error)
    }
  }

  async function keep({ install_uuid, user_id }: SdkState, event: Record<string, unknown>): Promise<void> {
    const os = options.platform === undefined ? {} : { os: options.platform }
    const version = options.app_version === undefined ? {} : { app_version: options.app_version }
    const device = { ...os, ...version, ...options.device, ...(event.device as object | null | undefined) }
    const user = user_id === null ? {} : { user_id }
    const platform = options.platform === undefined ? {} : { platform: options.platform }
    await queue.add(JSON.stringify({ ...platform, ...user, ...event, install_uuid, device }))
    sender.wakeIn(queue.size >= flush_events ? 0 : flush_interval_ms)
  }

  return {
    async track(event) {
      const { event_id, fields } = snapshot(event, now())
      if (fields === null) reports.onRejected({ event_name: event.event_name, event_id }, 'no_json', null)
      else if (closing.signal.aborted) reports.onRejected(fields, 'closed', null)
      else if (waiting >= events_max) reports.onRejected(fields, 'queue_full', null)
      else {
        waiting += 1
        const kept = await inOrder((known) => keep(known, fields).then(() => true), false)
        waiting -= 1
        if (!kept) reports.onRejected(fields, 'closed', null)
      }
      return event_id
    },

    trackInstall(props = {}) {
      const { fields } = snapshot({ event_name: 'app_install', props }, now())
      return inOrder(async (known) => {
        if (fields === null || known.installed === known.install_uuid) return false
        // 1. The event is durable. After a crash here a second one is made, which the service drops.
        await keep(known, fields)
        // 2. The event is never made again.
        known.installed = known.install_uuid
        await save()
        return true
      }, false)
    },

    setUser(given) {
      const user_id = given || null
      const { fields } = snapshot({ event_name: '_user_alias', user_id }, now())
      return inOrder(async (known) => {
        if (fields === null || known.user_id === user_id) return
        known.user_id = user_id
        if (user_id !== null && known.aliased !== user_id) await keep(known, fields)
        known.aliased = user_id ?? known.aliased
        await save()
      }, undefined)
    },

    reportCrash(error, props) {
      const now_ms = now()
      const { fields } = snapshot({ event_name: '_crash', props: crashProps(error, props) }, now_ms)
      return inOrder(async (known) => {
        const since_ms = Math.abs(now_ms - (known.crashed_at_ms ?? Number.NEGATIVE_INFINITY))
        if (fields === null || since_ms < limits.crash_interval_ms) return false
        known.crashed_at_ms = now_ms
        await save()
        await keep(known, fields)
        sender.wakeIn(0)
        return true
      }, false)
    },

    installUuid: () => inOrder(async ({ install_uuid }) => install_uuid, ''),

    async flush() {
      await last
      await sender.flush()
      return { pending: queue.size }
    },

    async close({ timeout_ms = 5000 } = {}) {
      await Promise.race([last.then(() => sender.flush()), pause(timeout_ms, closing.signal)])
      closing.abort()
      sender.stop()
      return { pending: queue.size }
    },
  }
}

interface Reporters {
  onError(error: TributaryError): void
  onFault(cause: unknown): void
  onRejected(event: Record<string, unknown>, reason: string, field: string | null): void
}

/** Calls the app's callbacks and ignores what they throw. */
function reporters(options: SdkClientOptions): Reporters {
  const quietly = (callback: () => void) => {
    try {
      callback()
    } catch {}
  }
  const onError = (error: TributaryError) => quietly(() => options.onError?.(error))
  return {
    onError,
    onFault: (cause) => onError(new TributaryError('storage_failed', { status: 0, message: String(cause), cause })),
    onRejected: (event, reason, field) => quietly(() => options.onRejected?.({ event, reason, field })),
  }
}

type SenderParts = { prefix: string; now: () => number; backoff: ConstructorParameters<typeof SdkSender>[0]['backoff'] }

const storageFunctions = ['get', 'set', 'delete', 'keys'] as const

function createSender(options: SdkClientOptions, reports: Reporters, { prefix, now, backoff }: SenderParts) {
  if (globalThis.crypto?.subtle === undefined) {
    throw badOptions('This runtime has no crypto.subtle. Use https or localhost in a browser, a polyfill elsewhere.')
  }
  const lost = ({ json }: QueuedEvent, reason: string, field: string | null) =>
    reports.onRejected(JSON.parse(json), reason, field)
  // A client would otherwise wait for its storage for ever.
  if (storageFunctions.some((name) => typeof options.storage?.[name] !== 'function')) {
    throw badOptions(`storage must have the functions ${storageFunctions.join(', ')}: see EventStorage.`)
  }
  const queue = new EventQueue({
    storage: options.storage,
    prefix: `${prefix}event.`,
    events_max: options.queue_events_max ?? limits.queue_events_max,
    bytes_max: options.queue_bytes_max ?? limits.queue_bytes_max,
    now,
    onFault: reports.onFault,
    onDropped: (events) => {
      for (const event of events) lost(event, 'queue_full', null)
    },
  })
  const timeout_ms = options.timeout_ms ?? 30_000
  const post = createSdkPost({ ...options, sdk: options.sdk ?? 'tributary-ts-0.1.0', timeout_ms, now })
  const sender = new SdkSender({ queue, post, backoff, now, onError: reports.onError, onRejected: lost })
  return { queue, sender }
}

/**
 * Copies the event, so that the app may change its objects later; `fields` is null when it can't be JSON. The copy has an
 * event time: without one the service would use the day of receipt, which may differ from try to try.
 */
function snapshot(event: SdkEvent, now_ms: number): { event_id: string; fields: Record<string, unknown> | null } {
  const event_id = event.event_id ?? crypto.randomUUID()
  const event_ts_ms = Number.isFinite(event.event_ts_ms) ? event.event_ts_ms : Math.round(now_ms)
  try {
    return { event_id, fields: JSON.parse(JSON.stringify({ ...event, event_id, event_ts_ms })) }
  } catch {
    return { event_id, fields: null }
  }
}

/** Ends early, without an error, when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}
