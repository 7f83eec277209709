import { type Decided, deliverEvents, Refusals } from '../deliver-events.ts'
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
 * Empties the queue, one request at a time. A request that may succeed later is retried for ever, with growing pauses. A
 * final refusal drops the events of its request. An event leaves the queue only when its answer has come.
 */
export class SdkSender {
  readonly #options: SenderOptions
  readonly #stop = new AbortController()
  #failures = 0
  /** `Retry-After` allows no request before this time. */
  #not_before_ms = 0
  #draining: Promise<void> | null = null
  #timer: { due_ms: number; cancel(): void } | null = null

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Sends after `ms` at the latest. After a failure the retry pause decides instead. */
  wakeIn(ms: number): void {
    if (this.#stop.signal.aborted || this.#failures > 0) return
    this.#arm(ms)
  }

  /** Sends now unless `Retry-After` forbids it. Resolves at the first failure or once the queue is empty. */
  async flush(): Promise<void> {
    // A run that is under way may have read the queue before the newest event.
    await this.#draining
    if (performance.now() >= this.#not_before_ms) await this.#drain()
  }

  /** Stops for good and aborts the open request. */
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
    // A queue on disk must not keep a process of Node alive.
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
      const retry_after_ms = Math.min(error.retry_after_ms ?? 0, limits.sdk_pause_ms_max)
      this.#not_before_ms = performance.now() + retry_after_ms
      this.#disarm()
      this.#arm(pauseMs(this.#failures, retry_after_ms, backoff))
      return
    }
  }

  /** Null when the batch is decided, else the error for which it is retried. */
  async #sendFirst(): Promise<TributaryError | null> {
    const { queue, onError } = this.#options
    const batch = queue.first(sdk)
    try {
      const post = (events: readonly QueuedEvent[]) => this.#postOnce(events)
      const onDecided = (decided: readonly Decided<QueuedEvent>[]) => this.#onDecided(decided)
      await deliverEvents(batch, { post, onDecided, refusals: new Refusals() })
      return null
    } catch (thrown) {
      queue.release(batch)
      if (this.#stop.signal.aborted) return null
      const error = asTributaryError(thrown)
      onError(error)
      if (isKept(error)) return error
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

  async #onDecided(decided: readonly Decided<QueuedEvent>[]): Promise<void> {
    await this.#options.queue.remove(decided.map(({ event }) => event))
    for (const { event, outcome } of decided) {
      if (outcome.status === 'rejected') this.#options.onRejected(event, outcome.reason, outcome.field)
    }
  }

  /** Drops the events of a finally refused request, such as one with an unknown key: a retry would get the same answer. */
  async #refuse(batch: readonly QueuedEvent[], { code, field }: TributaryError): Promise<void> {
    const { queue, onRejected } = this.#options
    const undecided = batch.filter((event) => queue.has(event))
    await queue.remove(undecided)
    for (const event of undecided) onRejected(event, code, field ?? null)
  }
}

/** Whether the events stay in the queue. A company is suspended until its operator reinstates it, so its 401 passes. */
const isKept = ({ status, code }: TributaryError): boolean =>
  isRetried(status) || status < 400 || (status === 401 && code === 'company_suspended')

const sdk = { events_max: limits.sdk_batch_events_max, body_bytes_max: limits.sdk_inflated_bytes_max }

/** Wraps errors of the runtime (no `crypto.subtle`, no memory). Their events stay in the queue. */
function asTributaryError(thrown: unknown): TributaryError {
  if (thrown instanceof TributaryError) return thrown
  return new TributaryError('client_fault', { status: 0, message: String(thrown), cause: thrown })
}
