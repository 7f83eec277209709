import { Worker } from 'node:worker_threads'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { claimedBytes, type WireBody } from '../read-body.ts'
import { createFairQueue } from './fair-queue.ts'
import { type Judged, judgedMs, judges, type Kind } from './judges.ts'
import { type Answer, fromThread, type Task } from './worker-messages.ts'

export interface JudgeWorker {
  /** Rejects with `unavailable` while too many bodies of the app wait, and after `wait_ms_max`. */
  judge<K extends Kind>(kind: K, body: WireBody, input: Judged[K]['input']): Promise<Judged[K]['judged']>
  close(): Promise<void>
}

interface WorkerOptions {
  logger: Logger
  registry: Registry
  /** `limits` when absent. */
  wait_ms_max?: number
}

interface Job {
  /** Its company and app. */
  tenant: readonly string[]
  task: Task
  /** Whether the body waited too long and was answered. */
  is_late: boolean
  resolve(judged: never): void
  reject(error: Error): void
}

/**
 * A thread that judges one body at a time. Companies, and the apps of each, share its time; a body that may take less
 * time comes earlier (`createFairQueue`). A gzip body is estimated by its claimed inflated size. If it inflates to
 * more, the thread stops there, and the body waits anew as the largest possible one.
 *
 * The thread starts with the first body. It ends when it had no body for `limits.judge_thread_idle_ms`, since its
 * memory is large after large bodies. It also ends when a body outgrows its memory, and at a fault of ours: that
 * request is 503, and the next body starts the thread anew.
 */
export function openWorker({
  logger,
  registry,
  wait_ms_max = limits.judge_thread_wait_ms_max,
}: WorkerOptions): JudgeWorker {
  const queue = createFairQueue<Job>(2, ({ task }) => judgedMs(task.bytes_max))
  const judgedTotal = workerMetrics(registry, () => queue.waiting([]))
  let worker: Worker | null = null
  let running: { job: Job; from_ms: number } | null = null
  let idle: NodeJS.Timeout | undefined
  let closed = false

  function start(): Worker {
    const started = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.judge_thread_heap_mb_max, maxYoungGenerationSizeMb: 16 },
    })
    started.unref()
    started.on('message', (answer: Answer) =>
      end((job) => {
        if (answer === 'larger') return pushAgain(job)
        judgedTotal.inc()
        conclude(job, answer)
      }),
    )
    started.on('error', (err) => {
      logger.warn({ err }, 'the thread that judges bodies ended; the next body starts another')
      if (worker === started) worker = null
      end((job) => {
        judgedTotal.inc()
        job.reject(unavailable(err))
      })
    })
    return started
  }
  function end(endJob: (job: Job) => void) {
    if (running === null) return
    const { job, from_ms } = running
    running = null
    queue.spent(job.tenant, performance.now() - from_ms)
    endJob(job)
    next()
  }
  function pushAgain(job: Job) {
    job.task.bytes_max = judges[job.task.kind].inflated_bytes_max
    if (!job.is_late) queue.push(job.tenant, job)
  }
  function next() {
    if (running !== null || closed) return
    const job = queue.next()
    if (job === undefined) {
      clearTimeout(idle)
      idle = setTimeout(() => void endThread(), limits.judge_thread_idle_ms).unref()
      return
    }
    clearTimeout(idle)
    worker ??= start()
    running = { job, from_ms: performance.now() }
    worker.postMessage(job.task)
  }
  async function endThread() {
    const ending = worker
    worker = null
    await ending?.terminate()
  }
  async function close() {
    closed = true
    clearTimeout(idle)
    await endThread()
    running?.job.reject(unavailable())
    running = null
    for (let job = queue.next(); job !== undefined; job = queue.next()) job.reject(unavailable())
  }
  return {
    judge: (kind, body, input) =>
      new Promise((resolve, reject) => {
        const tenant = [input.facts.company_id, input.facts.app_id]
        if (closed || queue.waiting(tenant) >= limits.judge_thread_waiting_max) return reject(unavailable())
        // A connection on which nothing moves is closed without an answer: the answer must come before.
        const late = setTimeout(() => {
          job.is_late = true
          queue.remove(tenant, job)
          reject(unavailable())
        }, wait_ms_max).unref()
        const job: Job = {
          ...{ tenant, is_late: false },
          task: { kind, ...body, input, bytes_max: claimedBytes(body, judges[kind]) },
          resolve(judged) {
            clearTimeout(late)
            resolve(judged)
          },
          reject(error) {
            clearTimeout(late)
            reject(error)
          },
        }
        queue.push(tenant, job)
        next()
      }),
    close,
  }
}

const unavailable = (cause?: Error) =>
  new CodedError('unavailable', {
    message: 'Too many large bodies at once.',
    headers: retrySoon,
    ...(cause && { cause }),
  })

function conclude(job: Job, answer: Exclude<Answer, 'larger'>) {
  if ('fault' in answer) job.reject(new CodedError(answer.fault.code, answer.fault))
  else job.resolve(fromThread(answer.judged) as never)
}

function workerMetrics(registry: Registry, waiting: () => number) {
  const registers = [registry]
  new Gauge({
    name: 'tributary_ingest_bodies_waiting',
    help: 'Bodies that wait for the thread that judges large and unusual ones.',
    registers,
    collect() {
      this.set(waiting())
    },
  })
  return new Counter({
    name: 'tributary_ingest_bodies_judged_apart_total',
    help: 'Bodies that were judged in a thread of their own: large, of unusual form, or of a busy app.',
    registers,
  })
}
