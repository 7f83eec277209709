import { parentPort } from 'node:worker_threads'
import { CodedError } from '@tributary/contracts/errors'
import { readBody } from '../read-body.ts'
import { type Judge, judges } from './judges.ts'
import { type Answer, fromThread, type Task } from './worker-messages.ts'

/** The thread of `openWorker`. A fault that is not coded is ours: it ends the thread, and the log has it. */
parentPort?.on('message', (message: Task) => parentPort?.postMessage(judgeTask(fromThread(message) as Task)))

function judgeTask({ kind, wire, encoding, input }: Task): Answer {
  const judge = judges[kind] as Judge<unknown, unknown>
  try {
    const body = readBody({ wire, encoding }, judge)
    return { judged: judge.judgePlain?.(body, wire, input, null) ?? judge.judge(body, wire, input) }
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    const { code, field, message, cause } = error
    return { fault: { code, message, ...(field && { field }), ...(cause ? { cause: String(cause) } : {}) } }
  }
}
