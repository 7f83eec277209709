import { connect, type Socket } from 'node:net'
import { type HttpAnswer, readAnswer } from './read-answer.ts'

/** What came back for the bytes that were sent. */
export interface Exchange {
  answers: HttpAnswer[]
  /** The answers are not all that came: what follows them is no HTTP answer. */
  rubbish: boolean
  closed: boolean
  /** Nothing ended it in time. */
  late: boolean
  ms: number
}

export const patience_ms = 60_000

/** A connection that is kept: one request, one answer, the next. */
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

/** A connection for bytes that may be no request, or several: everything that comes until the server closes. */
export function brokenExchange(port: number, bytes: Buffer, half_close: 'at-once' | 'later'): Promise<Exchange> {
  const socket = open({ port, allowHalfOpen: true })
  return converse(socket, bytes, 'POST', half_close).finally(() => socket.destroy())
}

function open(options: { port: number; allowHalfOpen?: boolean }): Socket {
  const socket = connect({ ...options, host: '127.0.0.1', noDelay: true })
  return socket.on('error', () => {}) // 'close' follows
}

/** With `later` the client says that nothing more comes only after the first answer, or when there is none for a while. */
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
    // What could not be read as a request may have been a HEAD: then its refusal has a body all the same.
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
