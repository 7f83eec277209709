import { type Outgoing, platformsOf } from '../deliver-events.ts'
import type { EventStorage } from '../storage.ts'
import { type BatchLimits, takeBatch, utf8Bytes } from './take-batch.ts'

/** One tracked event. Storage holds `json` under `key`. */
export interface QueuedEvent extends Outgoing {
  key: string
  event_id: string
  bytes: number
  /** True while a request with the event waits for its answer. */
  sending: boolean
}

export interface QueueOptions {
  storage: EventStorage
  /** Begins every key. A number that grows with each event follows. */
  prefix: string
  events_max: number
  bytes_max: number
  now: () => number
  /** Called when storage fails. The event then stays in memory (set) or may be sent once more (delete). */
  onFault(error: unknown): void
  /** Called with the oldest events when the queue was full and dropped them. */
  onDropped(events: readonly QueuedEvent[]): void
}

/**
 * Holds events until their answer comes, in the order of tracking. Each event has its own key, so that one `set` makes it
 * durable and one `delete` removes it. A full queue drops the oldest events first and `app_install` last: without it the
 * install and its money can't be attributed. Two clients on one storage (browser tabs) may send an event twice, under the
 * same event_id.
 */
export class EventQueue {
  readonly #options: QueueOptions
  readonly #events = new Map<string, QueuedEvent>()
  #bytes = 0
  #order = 0

  constructor(options: QueueOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#events.size
  }

  has({ key }: QueuedEvent): boolean {
    return this.#events.has(key)
  }

  /** Reads the events of an earlier process. Throws when storage fails; it may then be called again. */
  async load(): Promise<void> {
    const { storage, prefix } = this.#options
    const keys = (await storage.keys()).filter((key) => key.startsWith(prefix)).sort()
    for (let from = 0; from < keys.length; from += 100) {
      const some = keys.slice(from, from + 100)
      const values = await Promise.all(some.map((key) => storage.get(key)))
      for (const [index, json] of values.entries()) {
        const event = json === null ? null : parse(some[index]!, json)
        if (event !== null) this.#put(event)
      }
    }
    this.#order = Number.parseInt(keys.at(-1)?.slice(prefix.length) ?? '0', 10) || 0
    await this.#makeRoom()
  }

  /** Durable when resolved. When storage fails, `onFault` is called and the event stays in memory only. */
  async add(json: string): Promise<void> {
    const { storage, prefix, now, onFault } = this.#options
    this.#order = Math.max(this.#order + 1, Math.round(now()))
    const key = `${prefix}${String(this.#order).padStart(16, '0')}.${crypto.randomUUID().slice(0, 8)}`
    const event = parse(key, json)
    if (event === null) return
    this.#put(event)
    try {
      await storage.set(key, json)
    } catch (error) {
      onFault(error)
    }
    await this.#makeRoom()
  }

  /** The oldest events that fit into one request. They stay in the queue until `remove`. */
  first(limits: BatchLimits): QueuedEvent[] {
    const batch = takeBatch(this.#events.values(), limits)
    for (const event of batch) event.sending = true
    return batch
  }

  /** Marks the events of a failed request as waiting again. */
  release(events: readonly QueuedEvent[]): void {
    for (const event of events) event.sending = false
  }

  /** Removes events that were answered. */
  async remove(events: readonly QueuedEvent[]): Promise<void> {
    const { storage, onFault } = this.#options
    for (const { key, bytes } of events) if (this.#events.delete(key)) this.#bytes -= bytes
    const deletions = await Promise.allSettled(events.map(async ({ key }) => storage.delete(key)))
    const failed = deletions.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') onFault(failed.reason)
  }

  #put(event: QueuedEvent): void {
    this.#bytes += event.bytes - (this.#events.get(event.key)?.bytes ?? 0)
    this.#events.set(event.key, event)
  }

  async #makeRoom(): Promise<void> {
    const { events_max, bytes_max, onDropped } = this.#options
    let [count, bytes] = [this.#events.size, this.#bytes]
    if (count <= events_max && bytes <= bytes_max) return
    const idle = [...this.#events.values()].filter(({ sending }) => !sending)
    const is_install = ({ event_name }: QueuedEvent) => event_name === 'app_install'
    const dropped: QueuedEvent[] = []
    for (const event of [...idle.filter((one) => !is_install(one)), ...idle.filter(is_install)]) {
      if (count <= events_max && bytes <= bytes_max) break
      dropped.push(event)
      count -= 1
      bytes -= event.bytes
    }
    await this.remove(dropped)
    if (dropped.length > 0) onDropped(dropped)
  }
}

function parse(key: string, json: string): QueuedEvent | null {
  try {
    const event = JSON.parse(json) as Record<string, unknown>
    const { event_id, event_name } = event
    if (typeof event_id !== 'string') return null
    return { key, json, event_id, event_name, bytes: utf8Bytes(json), platforms: platformsOf(event), sending: false }
  } catch {
    return null
  }
}
