import http from 'node:http'
import https from 'node:https'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

interface AgentOptions {
  url: string
  connect_timeout_ms: number
  max_open_connections: number
}

/** A timer that is later than this was held up by a busy event loop. */
const late_ms_min = 10

/**
 * A pool of kept-alive connections that gives up connecting after `connect_timeout_ms`, which Node's own can't. A timer that fires
 * late waits once more, for as long as it was late: an answer may lie unread in the socket.
 */
export function serverAgent({ url, connect_timeout_ms, max_open_connections }: AgentOptions): http.Agent {
  const secure = new URL(url).protocol === 'https:'
  const options = { keepAlive: true, maxSockets: max_open_connections, scheduling: 'lifo' as const }
  const agent = secure ? new https.Agent(options) : new http.Agent(options)
  return Object.assign(agent, {
    createConnection(target: ConnectionOptions & { host: string; port: number }): Socket {
      const socket = secure ? connectTls(target) : connect(target)
      const giveUp = () =>
        socket.destroy(new Error(`No connection to ${target.host}:${target.port} in ${connect_timeout_ms} ms`))
      const due_ms = performance.now() + connect_timeout_ms
      let timer = setTimeout(() => {
        const late_ms = performance.now() - due_ms
        if (late_ms > late_ms_min) timer = setTimeout(giveUp, late_ms)
        else giveUp()
      }, connect_timeout_ms)
      const stopTimer = () => clearTimeout(timer)
      return socket.once(secure ? 'secureConnect' : 'connect', stopTimer).once('close', stopTimer)
    },
  })
}
