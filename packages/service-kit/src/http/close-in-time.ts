import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long a connection that was just accepted may take to deliver the first bytes of its request. */
const first_bytes_ms_max = 500

/**
 * Lets the server of an app close within `drain_ms_max`. Node no longer ends late requests once a server closes, and it
 * takes a connection that never sent anything for a request under way:
 * - connections without a byte are closed after `first_bytes_ms_max`
 * - answers say `Connection: close`, since a connection that stays open for the next request keeps the server open
 * - connections that are still open after `drain_ms_max` are closed
 */
export function closeInTime(app: FastifyInstance, drain_ms_max: number): void {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  let closing = false
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', async () => {
    closing = true
    setTimeout(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, first_bytes_ms_max).unref()
    setTimeout(() => app.server.closeAllConnections(), drain_ms_max).unref()
  })
}
