import { parentPort } from 'node:worker_threads'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { createCollector } from '@tributary/service-kit/service/shed-start-memory'
import { readBody, readUpTo } from '../read-body.ts'
import { type Judge, judges } from './judges.ts'
import { type Answer, fromThread, type Task } from './worker-messages.ts'

const collectGarbage = createCollector()

/** The thread of `openWorker`. A fault without a code is ours: it ends the thread and is logged. */
parentPort?.on('message', (message: Task) => {
  const answer = judgeTask(fromThread(message) as Task)
  parentPort?.postMessage(answer)
  // Without this V8 lets the garbage of many large bodies grow to the limit of the thread: 200 MiB instead of 80.
  if (inflated_bytes > limits.judge_thread_kept_bytes_max) collectGarbage({ type: 'major', execution: 'sync' })
})

/** Inflated bytes of the body that was judged last. */
let inflated_bytes = 0

function judgeTask({ kind, wire, encoding, input, bytes_max }: Task): Answer {
  const judge = judges[kind] as Judge<unknown, unknown>
  // A body that inflates beyond a limit made as much garbage as the limit.
  inflated_bytes = Math.min(bytes_max, judge.inflated_bytes_max)
  try {
    const is_bounded = bytes_max < judge.inflated_bytes_max
    const body = is_bounded ? readUpTo({ wire, encoding }, bytes_max) : readBody({ wire, encoding }, judge)
    if (body === null) return 'larger'
    inflated_bytes = body.length
    return { judged: judge.judgePlain?.(body, wire, input, null) ?? judge.judge(body, wire, input) }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    const { code, field, message, cause } = error
    return { fault: { code, message, ...(field && { field }), ...(cause ? { cause: String(cause) } : {}) } }
  }
}
