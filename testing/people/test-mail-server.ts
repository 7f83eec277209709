import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** A mail as the server took it: the addresses of its envelope, and its text with headers, decoded. */
export interface ReceivedMail {
  from: string
  to: string[]
  headers: string
  text: string
}

/** A mail server that runs, and delivers nothing. */
export interface TestMailServer {
  url: string
  password: string
  received: ReceivedMail[]
  /** What it answers instead of taking a mail; `silence` is no answer. */
  refusal: string | 'silence' | null
  close(): Promise<void>
}

export async function startMailServer(): Promise<TestMailServer> {
  const own: Pick<TestMailServer, 'received' | 'refusal' | 'password'> = {
    received: [],
    refusal: null,
    password: 'pass word/of:mail',
  }
  const server = new SMTPServer({
    ...{ hideSTARTTLS: true, allowInsecureAuth: true, logger: false, closeTimeout: 1, disableReverseLookup: true },
    onAuth: ({ username, password }, _session, done) =>
      done(username === 'tributary' && password === own.password ? null : new Error('wrong'), { user: 'tributary' }),
    onRcptTo(_address, _session, done) {
      if (own.refusal !== 'silence') done(own.refusal === null ? null : new Error(own.refusal))
    },
    onData(stream, { envelope }, done) {
      let raw = ''
      stream.setEncoding('utf8').on('data', (part: string) => {
        raw += part
      })
      stream.on('end', () => {
        const [headers = '', ...body] = raw.split('\r\n\r\n')
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        own.received.push({ from, to, headers, text: decode(body.join('\r\n\r\n')) })
        done()
      })
    },
  })
  server.on('error', () => {}) // of a connection that the other side has closed
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const url = `smtp://tributary:${encodeURIComponent(own.password)}@127.0.0.1:${port}`
  return Object.assign(own, { url, close: () => new Promise<void>((resolve) => server.close(resolve)) })
}

/** Quoted-printable. */
const decode = (text: string): string =>
  Buffer.from(
    text
      .replaceAll('=\r\n', '')
      .replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')
