import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import { stranger_address } from '../addresses.ts'
import type { Attack } from '../attack.ts'
import { rest } from '../send.ts'

const at_once = 250
const wanted = limits.connections_max + 500

/** The attacker uses up all connections of the service. */
export const manyConnections: Attack = {
  name: 'many-connections',
  what: `one address opens ${wanted} connections and sends nothing on them`,
  expected: ['closed'],
  allowed: [],
  async run(target) {
    const open = new Set<Socket>()
    async function openOne() {
      const from = { port: target.port, host: '127.0.0.1', localAddress: stranger_address }
      const socket = connect(from)
      socket.on('error', () => {})
      socket.on('close', () => {
        if (open.delete(socket) && !target.signal.aborted) target.answers.count('closed')
      })
      open.add(socket)
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
    }
    while (!target.signal.aborted) {
      if (open.size < wanted) await Promise.all(Array.from({ length: at_once }, openOne))
      else await rest(target, 100)
    }
    for (const socket of open) socket.destroy()
  },
}
