import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { GatewayOrder, GatewayReport } from './gateway.ts'

/** Options of node for every service; `npm run bench` has them and hands them on. A test holds all places equal. */
export const serviceFlags = ['--max-semi-space-size=16']

/** The gateway under test as a child process, driven step by step over IPC. */
export async function startGateway(order: GatewayOrder, execArgv: string[]) {
  const child = fork(join(import.meta.dirname, 'gateway.ts'), [], {
    execArgv: [...process.execArgv, ...execArgv],
  })
  const ended = once(child, 'exit')
  const said = async (): Promise<GatewayReport> => {
    const early = ended.then(() => Promise.reject(new Error('the gateway ended early')))
    const [report] = (await Promise.race([once(child, 'message'), early])) as [GatewayReport]
    return report
  }
  child.send(order)
  const { port = 0 } = await said()
  return {
    port,
    startWatch: () => child.send('start'),
    /** CPU and the peak of memory since `startWatch`. */
    async stopWatch() {
      child.send('stop')
      const { cpu_seconds = 0, rss_mb = 0 } = await said()
      return { cpu_seconds, rss_mb }
    },
    async countLogged() {
      child.send('count')
      const { logged = 0 } = await said()
      return logged
    },
    async stop() {
      child.send('end')
      await ended
    },
  }
}
