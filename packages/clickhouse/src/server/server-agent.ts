import http from 'node:http'
import https from 'node:https'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

interface AgentOptions {
  url: string
  connect_timeout_ms: number
  max_open_connections: number
}

/** A timer that is later than this was kept waiting by a busy process. */
const late_ms_min = 10

/**
 * A pool of kept-alive connections that gives up connecting after `connect_timeout_ms`, which Node's own can't. Time for which this
 * process was too busy to look at its sockets does not count.
 */
export function serverAgent({ url, connect_timeout_ms, max_open_connections }: AgentOptions): http.Agent {
  const secure = new URL(url).protocol === 'https:'
  const options = { keepAlive: true, maxSockets: max_open_connections, scheduling: 'lifo' as const }
  const agent = secure ? new https.Agent(options) : new http.Agent(options)
  return Object.assign(agent, {
    createConnection(target: ConnectionOptions & { host: string; port: number }): Socket {
      const socket = secure ? connectTls(target) : connect(target)
      let timer: NodeJS.Timeout
      const wait = (ms: number) => {
        const due_ms = performance.now() + ms
        timer = setTimeout(() => {
          const late_ms = performance.now() - due_ms
          if (late_ms > late_ms_min) wait(late_ms)
          else socket.destroy(new Error(`No connection to ${target.host}:${target.port} in ${connect_timeout_ms} ms`))
        }, ms)
      }
      wait(connect_timeout_ms)
      const stopTimer = () => clearTimeout(timer)
      return socket.once(secure ? 'secureConnect' : 'connect', stopTimer).once('close', stopTimer)
    },
  })
}
