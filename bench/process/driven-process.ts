import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import { shedStartMemory } from '@tributary/service-kit/service/shed-start-memory'
import type { FastifyInstance } from 'fastify'
import { watchMemory } from './peak-memory.ts'
import { ownMegabytes } from './process-cost.ts'

/** The messages of a process under test over IPC: its port, then the cost of a load, then the records in its log. */
export interface ProcessReport {
  port?: number
  cpu_seconds?: number
  rss_mb?: number
  logged?: number
  /** The process measures its own steps, in the unit that their names say; seconds without one. */
  steps?: Record<string, number>
}

export const report = (facts: ProcessReport): void => void process.send?.(facts)

/** The next message of the bench: the order, then a word for each step. */
export async function nextMessage(): Promise<unknown> {
  const [message] = (await once(process, 'message')) as [unknown]
  return message
}

/** Listens on a free port and reports it. */
export async function listen(app: FastifyInstance): Promise<void> {
  await app.listen({ port: 0, host: '127.0.0.1', backlog: limits.connections_waiting_max })
  report({ port: (app.server.address() as AddressInfo).port })
}

/** CPU of this process since now, as the function that it returns reports it. */
export function watchCpu(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1e6
  }
}

interface Server {
  app: FastifyInstance
  /** Records in its log. */
  count(): Promise<number>
  /** Closes what is behind the app. */
  close(): Promise<unknown>
}

/** The whole life of a process under test that serves one load after a warm one. */
export async function runDriven<Order>(open: (order: Order) => Promise<Server>): Promise<void> {
  // The bench is over when its parent is gone, whatever the state.
  process.once('disconnect', () => process.exit())
  const { app, count, close } = await open((await nextMessage()) as Order)
  shedStartMemory() // as a service does when it has started: under load it would make the answers of its time late
  await listen(app)
  await nextMessage() // warm
  const cpuSeconds = watchCpu()
  const peakMegabytes = watchMemory()
  await nextMessage() // the load is over
  report({ cpu_seconds: cpuSeconds(), rss_mb: peakMegabytes(), steps: { own_mb: ownMegabytes(process.pid) } })
  await nextMessage() // everything was sent
  report({ logged: await count() })
  await nextMessage()
  await app.close()
  await close()
  process.disconnect()
}
