import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type HttpAnswer, readAnswer } from '../fuzz/read-answer.ts'
import { attacker_ip } from './addresses.ts'
import { answerName } from './answers.ts'
import type { Target } from './attack.ts'

/** How long the service may take to close a connection after an answer with `Connection: close`. */
const close_ms_max = 5000

/** The head of a request to `/event` whose body is `length` bytes long, or comes in chunks. */
export function eventHead(length: number | 'endless', headers: Record<string, string>): string {
  const framing = length === 'endless' ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }
  const all = { host: 'x', 'x-forwarded-for': attacker_ip, ...framing, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /event HTTP/1.1\r\n${lines.join('')}\r\n`
}

/**
 * Sends part of a request on a new connection, and counts the answer. `then` may send more. The connection ends with its
 * answer or with the attack.
 */
export async function sendPart(target: Target, part: Buffer, then: (socket: Socket) => void = () => {}): Promise<void> {
  const socket = connect({ port: target.port, host: '127.0.0.1' }).on('error', () => {})
  const end = () => socket.destroy()
  target.signal.addEventListener('abort', end)
  const closed = once(socket, 'close').catch(() => {}) // a reset, while it sends
  try {
    socket.write(part)
    then(socket)
    const answer = await firstAnswer(socket)
    if (answer === null) {
      if (!target.signal.aborted) target.answers.count('closed')
      return
    }
    target.answers.count(answerName(answer.status, answer.body.toString()))
    if (answer.headers.get('connection') !== 'close') return
    const late = setTimeout(() => target.answers.count('left open'), close_ms_max)
    const ended = once(target.signal, 'abort')
    await Promise.race([closed, ended])
    clearTimeout(late)
  } finally {
    target.signal.removeEventListener('abort', end)
    socket.destroy()
  }
}

/** The first answer; null when the connection was closed without one. */
function firstAnswer(socket: Socket): Promise<HttpAnswer | null> {
  const { promise, resolve } = Promise.withResolvers<HttpAnswer | null>()
  let unread: Buffer = Buffer.alloc(0)
  socket.on('close', () => resolve(null))
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk])
    const read = readAnswer(unread, 'POST')
    if (read === 'no-http') resolve(null)
    else if (read !== null) resolve(read.answer)
  })
  return promise
}
