import { deliverEvents, Refusals, type Settled } from '../deliver-events.ts'
import { errorOf } from '../http.ts'
import { limits } from '../limits.ts'
import { type Backoff, isRetried, pauseMs } from '../retry.ts'
import { TributaryError } from '../tributary-error.ts'
import type { EventQueue, QueuedEvent } from './event-queue.ts'
import type { SdkPost } from './sdk-post.ts'

export interface SenderOptions {
  queue: EventQueue
  post: SdkPost
  backoff: Backoff
  now: () => number
  onError(error: TributaryError): void
  onRejected(event: QueuedEvent, reason: string, field: string | null): void
}

/**
 * Empties the queue, one request at a time. A request that may succeed later is made again for ever, in growing pauses;
 * one that is refused for good drops its events. An event leaves the queue when its answer has come, never before.
 */
export class SdkSender {
  readonly #options: SenderOptions
  readonly #stop = new AbortController()
  #failures = 0
  /** The service asked us not to come back before. */
  #not_before_ms = 0
  #draining: Promise<void> | null = null
  #timer: { due_ms: number; cancel(): void } | null = null

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Sends in `ms` at the latest, if the last failure allows. */
  wakeIn(ms: number): void {
    if (this.#stop.signal.aborted || this.#failures > 0) return
    this.#arm(ms)
  }

  /** Sends now unless the service asked to wait; resolves at the first failure, or when the queue is empty. */
  async flush(): Promise<void> {
    // A run that is under way may have read the queue before the newest event.
    await this.#draining
    if (performance.now() >= this.#not_before_ms) await this.#drain()
  }

  /** Ends for good; a request that is open is given up. */
  stop(): void {
    this.#stop.abort()
    this.#disarm()
  }

  #arm(ms: number): void {
    const due_ms = performance.now() + ms
    if (this.#timer !== null && this.#timer.due_ms <= due_ms) return
    this.#timer?.cancel()
    const timer = setTimeout(() => {
      this.#timer = null
      void this.#drain()
    }, ms)
    // In Node a queue that is on disk is no reason to keep the process alive.
    ;(timer as { unref?: () => void }).unref?.()
    this.#timer = { due_ms, cancel: () => clearTimeout(timer) }
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#run().finally(() => {
      this.#draining = null
    })
    return this.#draining
  }

  async #run(): Promise<void> {
    this.#disarm()
    const { queue, backoff } = this.#options
    while (queue.size > 0 && !this.#stop.signal.aborted) {
      const error = await this.#sendFirst()
      if (error === null) {
        this.#failures = 0
        continue
      }
      if (this.#stop.signal.aborted) return
      this.#failures += 1
      const asked_ms = Math.min(error.retry_after_ms ?? 0, limits.sdk_pause_ms_max)
      this.#not_before_ms = performance.now() + asked_ms
      this.#disarm()
      this.#arm(pauseMs(this.#failures, asked_ms, backoff))
      return
    }
  }

  /** Null when the batch is settled, else why it has to be sent again. */
  async #sendFirst(): Promise<TributaryError | null> {
    const { queue, onError } = this.#options
    const batch = queue.first(sdk)
    try {
      const post = (events: readonly QueuedEvent[]) => this.#postOnce(events)
      const settle = (settled: readonly Settled<QueuedEvent>[]) => this.#settle(settled)
      await deliverEvents(batch, { post, settle, refusals: new Refusals() })
      return null
    } catch (thrown) {
      queue.release(batch)
      if (this.#stop.signal.aborted) return null
      const error = asTributaryError(thrown)
      onError(error)
      if (isRetried(error.status) || error.status < 400) return error
      await this.#refuse(batch, error)
      return null
    }
  }

  async #postOnce(events: readonly QueuedEvent[]) {
    const texts = events.map(({ json }) => json)
    const answer = await this.#options.post(texts, this.#stop.signal)
    if (isRetried(answer.status)) throw errorOf(answer, this.#options.now())
    return { answer, repeated: false }
  }

  async #settle(settled: readonly Settled<QueuedEvent>[]): Promise<void> {
    await this.#options.queue.remove(settled.map(({ event }) => event))
    for (const { event, outcome } of settled) {
      if (outcome.status === 'rejected') this.#options.onRejected(event, outcome.reason, outcome.field)
    }
  }

  /** A whole request refused for good, such as 401: asking again would get the same answer for ever. */
  async #refuse(batch: readonly QueuedEvent[], { code, field }: TributaryError): Promise<void> {
    const { queue, onRejected } = this.#options
    const undecided = batch.filter((event) => queue.has(event))
    await queue.remove(undecided)
    for (const event of undecided) onRejected(event, code, field ?? null)
  }
}

const sdk = { events_max: limits.sdk_batch_events_max, body_bytes_max: limits.sdk_inflated_bytes_max }

/** What is no answer of the service is a fault of this runtime (no `crypto.subtle`, no memory): kept and told. */
function asTributaryError(thrown: unknown): TributaryError {
  if (thrown instanceof TributaryError) return thrown
  return new TributaryError('client_fault', { status: 0, message: String(thrown), cause: thrown })
}
