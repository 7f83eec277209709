import { connect, type Socket } from 'node:net'
import { type HttpAnswer, readAnswer } from './read-answer.ts'

/** The result of sending bytes. */
export interface Exchange {
  answers: HttpAnswer[]
  /** True when bytes that are not an HTTP answer came too. */
  rubbish: boolean
  closed: boolean
  /** True when the exchange did not end in time. */
  late: boolean
  ms: number
}

export const patience_ms = 60_000

/** A kept-alive connection, which sends one request after the other. */
export function keptConnection(port: number) {
  let socket: Socket | null = null
  return {
    async exchange(bytes: Buffer, method: string): Promise<Exchange> {
      socket = socket?.destroyed === false ? socket : open({ port })
      const exchange = await converse(socket, bytes, method, 'first-answer')
      const [answer] = exchange.answers
      if (exchange.closed || answer?.headers.get('connection') === 'close') socket.destroy()
      return exchange
    },
    close: () => socket?.destroy(),
  }
}

/** Sends bytes that may be no request or several, and reads until the server closes the connection. */
export function brokenExchange(port: number, bytes: Buffer, half_close: 'at-once' | 'later'): Promise<Exchange> {
  const socket = open({ port, allowHalfOpen: true })
  return converse(socket, bytes, 'POST', half_close).finally(() => socket.destroy())
}

function open(options: { port: number; allowHalfOpen?: boolean }): Socket {
  const socket = connect({ ...options, host: '127.0.0.1', noDelay: true })
  return socket.on('error', () => {}) // 'close' follows
}

/** A client with `later` half-closes after the first answer, or after this time without one. */
const quiet_ms = 300

function converse(
  socket: Socket,
  bytes: Buffer,
  method: string,
  until: 'first-answer' | 'at-once' | 'later',
): Promise<Exchange> {
  const started = performance.now()
  const { promise, resolve } = Promise.withResolvers<Exchange>()
  const answers: HttpAnswer[] = []
  let unread: Buffer = Buffer.alloc(0)
  const patience = setTimeout(() => end({ late: true, closed: false }), patience_ms)
  const quiet = until === 'later' ? setTimeout(() => socket.end(), quiet_ms) : undefined

  function end({ late = false, closed = false, rubbish = false }) {
    clearTimeout(patience)
    clearTimeout(quiet)
    socket.off('data', take).off('close', close)
    // The server may not recognise a broken HEAD request, and then refuses it with a body.
    const refused = method === 'HEAD' && answers[0]?.headers.get('connection') === 'close'
    resolve({
      answers,
      rubbish: rubbish || (unread.length > 0 && !refused),
      closed,
      late,
      ms: performance.now() - started,
    })
  }
  function take(chunk: Buffer) {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
    for (;;) {
      const read = readAnswer(unread, method)
      if (read === 'no-http') return end({ rubbish: true })
      if (read === null) return
      unread = unread.subarray(read.bytes)
      if (read.answer.status < 200) continue // 100 Continue comes before the answer
      answers.push(read.answer)
      if (until === 'first-answer') return end({})
      if (until === 'later') socket.end()
    }
  }
  const close = () => end({ closed: true })
  socket.on('data', take).on('close', close)
  if (until === 'at-once') socket.end(bytes)
  else socket.write(bytes)
  return promise
}
