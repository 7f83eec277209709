import { CodedError } from '@tributary/contracts/errors'
import type { WholeRecord } from '../../broker.ts'

export interface BatcherOptions {
  /** Time from one send to the next, ms. A record waits for others so long at most, and not at all while the log is idle. */
  linger_ms: number
  /** A send is made as soon as this much is there, and is never larger, unless one record is. */
  send_bytes_max: number
  /** Waiting and in flight together; a publish above it is refused at once. */
  buffer_bytes_max: number
  /** Sends in flight at the same time. */
  sends_max: number
  /** Maximum time of a publish, which is answered then whatever became of it. */
  publish_ms_max: number
  /** Resolves when all records are durable. */
  send(records: readonly WholeRecord[]): Promise<void>
}

export interface Batcher {
  /** Resolves when every record is durable; rejects with `unavailable` when any may not be. */
  publish(records: readonly WholeRecord[]): Promise<void>
  buffered_bytes(): number
  /** Takes nothing more, and resolves when everything taken is answered. */
  close(): Promise<void>
}

/** One publish call: answered once, when its last record is durable or its first one failed. */
interface Publish {
  open_records: number
  records_in_flight: number
  answered: boolean
  resolve(): void
  reject(error: Error): void
}

interface Waiting {
  record: WholeRecord
  bytes: number
  publish: Publish
}

/** Length fields, offsets and timestamps of one record, rounded up. */
const record_overhead_bytes = 64

/** Gathers the records of many publish calls into few sends; memory is bounded, and so is the time to an answer. */
export function createBatcher(options: BatcherOptions): Batcher {
  const { linger_ms, send_bytes_max, buffer_bytes_max, sends_max, publish_ms_max } = options
  let queue: Waiting[] = []
  let queue_bytes = 0
  let buffered_bytes = 0
  let sends = 0
  let last_send_ms = Number.NEGATIVE_INFINITY
  let lingered = false
  let cancelWait: (() => void) | null = null
  let closed = false
  const unanswered = new Set<Promise<void>>()

  /** Sends what is full or has lingered, as far as sends are free. */
  function pump() {
    while (sends < sends_max && queue.length > 0 && (lingered || queue_bytes >= send_bytes_max)) {
      const waited = queue.length
      const batch = takeSend()
      if (batch.length > 0) void sendOff(batch)
      else if (queue.length === waited) break // all of it waits for sends under way
    }
    if (queue.length === 0) lingered = false
    else if (!lingered) cancelWait ??= wait(last_send_ms + linger_ms - performance.now(), onLingered)
  }

  function onLingered() {
    cancelWait = null
    lingered = true
    pump()
  }

  /**
   * The head of the queue, up to the size of a send, without what nobody waits for any more. A publish that takes
   * several sends has one at a time, so that its records keep their order.
   */
  function takeSend(): Waiting[] {
    const taken: Waiting[] = []
    const left: Waiting[] = []
    let bytes = 0
    let next = 0
    for (; next < queue.length; next += 1) {
      const waiting = queue[next]!
      if (waiting.publish.answered) buffered_bytes -= forget(waiting)
      else if (waiting.publish.records_in_flight > 0) left.push(waiting)
      else if (taken.length > 0 && bytes + waiting.bytes > send_bytes_max) break
      else {
        taken.push(waiting)
        bytes += forget(waiting)
      }
    }
    queue = left.concat(queue.slice(next))
    for (const { publish } of taken) publish.records_in_flight += 1
    return taken
  }

  function forget({ bytes }: Waiting): number {
    queue_bytes -= bytes
    return bytes
  }

  async function sendOff(batch: Waiting[]) {
    sends += 1
    last_send_ms = performance.now()
    let failure: unknown = null
    try {
      await options.send(batch.map(({ record }) => record))
    } catch (error) {
      failure = error ?? new Error('send failed')
    }
    sends -= 1
    buffered_bytes -= sum(batch)
    for (const { publish } of batch) {
      publish.records_in_flight -= 1
      if (failure !== null) publish.reject(new CodedError('unavailable', { message: 'log away', cause: failure }))
      else if (--publish.open_records === 0) publish.resolve()
    }
    pump()
  }

  function publish(records: readonly WholeRecord[]): Promise<void> {
    if (closed) return Promise.reject(new Error('the event log is closed'))
    if (records.length === 0) return Promise.resolve()
    const sizes = records.map(bytesOf)
    const bytes = sizes.reduce((total, size) => total + size, 0)
    // A publish larger than the whole buffer goes through when the buffer is empty: it could never otherwise.
    if (buffered_bytes > 0 && buffered_bytes + bytes > buffer_bytes_max) {
      return Promise.reject(new CodedError('unavailable', { message: 'the log is behind' }))
    }
    const { promise, answer } = newAnswer(records.length, publish_ms_max)
    unanswered.add(promise)
    promise.catch(() => {}).finally(() => unanswered.delete(promise))
    for (const [n, record] of records.entries()) queue.push({ record, bytes: sizes[n]!, publish: answer })
    queue_bytes += bytes
    buffered_bytes += bytes
    pump()
    return promise
  }

  async function close() {
    closed = true
    lingered = true
    pump()
    await Promise.allSettled(unanswered)
    cancelWait?.()
  }

  return { publish, buffered_bytes: () => buffered_bytes, close }
}

/**
 * Calls `then` after a time, and gives the function that cancels it. Without a time it waits for the end of the turn of the event loop:
 * the requests of one audit object publish in one turn, and share a send.
 */
function wait(ms: number, then: () => void): () => void {
  if (ms <= 0) {
    const immediate = setImmediate(then)
    return () => clearImmediate(immediate)
  }
  const timer = setTimeout(then, ms)
  return () => clearTimeout(timer)
}

function newAnswer(open_records: number, publish_ms_max: number): { promise: Promise<void>; answer: Publish } {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = () => answer.reject(new CodedError('unavailable', { message: 'the log does not answer' }))
  const deadline = setTimeout(late, publish_ms_max)
  const once = (finish: () => void) => {
    if (answer.answered) return
    answer.answered = true
    clearTimeout(deadline)
    finish()
  }
  const answer: Publish = {
    open_records,
    records_in_flight: 0,
    answered: false,
    resolve: () => once(resolve),
    reject: (error) => once(() => reject(error)),
  }
  return { promise, answer }
}

const sum = (batch: Waiting[]): number => batch.reduce((total, { bytes }) => total + bytes, 0)

function bytesOf({ key, value, headers }: WholeRecord): number {
  let bytes = record_overhead_bytes + value.length + (key === null ? 0 : Buffer.byteLength(key))
  for (const name in headers)
    bytes += record_overhead_bytes + Buffer.byteLength(name) + Buffer.byteLength(headers[name]!)
  return bytes
}
