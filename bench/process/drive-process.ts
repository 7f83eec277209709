import { fork } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'
import type { ProcessReport } from './driven-process.ts'

/** Starts a process under test, and drives it step by step over IPC (the other side: `driven-process.ts`). */
export async function startProcess(file: string, order: string | object, execArgv: readonly string[]) {
  const child = fork(file, [], { execArgv: [...process.execArgv, ...execArgv] })
  const ended = once(child, 'exit')
  const nextReport = async (): Promise<ProcessReport> => {
    const early = ended.then(() => Promise.reject(new Error(`${basename(file)} ended early`)))
    const [report] = (await Promise.race([once(child, 'message'), early])) as [ProcessReport]
    return report
  }
  child.send(order)
  const { port = 0 } = await nextReport()
  return {
    port,
    startWatch: () => void child.send('start'),
    /** CPU seconds, and the peak of memory in MB, since `startWatch`; seconds by step where the process counts them. */
    async stopWatch() {
      child.send('stop')
      const { cpu_seconds = 0, rss_mb = 0, steps = {} } = await nextReport()
      return { cpu_seconds, rss_mb, steps }
    },
    /** Records in the log of the process, and what it measured since `stopWatch`, if it does. */
    async countLogged() {
      child.send('count')
      const { logged = 0, steps = {} } = await nextReport()
      return { logged, steps }
    },
    async stop() {
      child.send('end')
      await ended
    },
  }
}
