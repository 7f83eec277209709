import type { Random } from '../random.ts'
import { mutateBytes } from './mutate-bytes.ts'

type Break = (request: Buffer, random: Random) => Buffer

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const headOf = (request: Buffer) => request.toString('latin1', 0, request.indexOf('\r\n\r\n') + 2)
const bodyOf = (request: Buffer) => request.subarray(request.indexOf('\r\n\r\n') + 4)

const withHead =
  (change: (head: string, random: Random, body: Buffer) => string): Break =>
  (request, random) => {
    const body = bodyOf(request)
    return Buffer.concat([latin1(`${change(headOf(request), random, body)}\r\n`), body])
  }

const contentLength = /Content-Length: \d+\r\n/
const lengths = [
  '-1',
  '0',
  '1',
  '1e3',
  '+5',
  '0x10',
  '5, 5',
  '',
  ' ',
  '99999999999999999999',
  '18446744073709551616',
  '5 5',
  '\u00b2',
]
const codings = [
  'chunked',
  'xchunked',
  'chunked, identity',
  'gzip, chunked',
  'identity',
  ' chunked',
  'chunked\t',
  'CHUNKED',
  '\x0bchunked',
  '"chunked"',
  '',
]
const preambles = [
  'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
  'PROXY UNKNOWN\r\n',
  '\r\n\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x7f\x00\x00\x01\x7f\x00\x00\x01\x00\x01\x00\x02',
  'SSH-2.0-x\r\n',
  '\x00',
  '*1\r\n$4\r\nPING\r\n',
].map(latin1)
const lines = [
  'X: a\r\n b\r\n',
  'X : a\r\n',
  ': a\r\n',
  'no colon\r\n',
  'X\x00: a\r\n',
  'X: \x00\r\n',
  'X: a\rb\r\n',
  'X: a\nb\r\n',
  'Host: other\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer\x2dEncoding : chunked\r\n',
  'Connection: Content-Length\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: websocket\r\nConnection: upgrade\r\n',
  `X: ${'x'.repeat(20_000)}\r\n`,
  'X: y\r\n'.repeat(3000),
]
const versions = [
  'HTTP/0.9',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/3',
  'HTTP/1.1 ',
  'http/1.1',
  'HTTP/11',
  '',
  'ICE/1.0',
  'RTSP/1.0',
]
const methods = [
  'post',
  'P\u00d8ST',
  'CONNECT',
  'PRI',
  'SOURCE',
  'QUERY',
  '',
  'GET GET',
  'P'.repeat(5000),
  '\x00',
  'LINK',
]
const targets = [
  '*',
  'http://evil.example/event',
  'evil.example:443',
  '/ event',
  '',
  'event',
  `/${'x'.repeat(20_000)}`,
  '/\x00',
  '/\u00ff',
  '//',
  '?',
]

/** A body in chunks, whose sizes may be wrong. */
function chunks(body: Buffer, random: Random): Buffer {
  const cut = random.below(body.length + 1)
  const size = (part: Buffer) => {
    const right = part.length.toString(16)
    const odd = [
      'ZZ',
      '-1',
      'FFFFFFFFFFFFFFFF',
      '10000000000000000',
      `${right};${'x'.repeat(5000)}`,
      `0x${right}`,
      '',
      `${right} `,
    ]
    return random.chance(0.7)
      ? right
      : random.pick([...odd, `000000${right}`, `${right};a="b`, (part.length + 1).toString(16)])
  }
  const end = random.chance(0.7) ? '\r\n' : random.pick(['\n', '', 'x\r\n'])
  const parts = [body.subarray(0, cut), body.subarray(cut)].filter((part) => part.length > 0)
  const framed = parts.flatMap((part) => [latin1(`${size(part)}\r\n`), part, latin1(end)])
  return Buffer.concat([
    ...framed,
    latin1(random.pick(['0\r\n\r\n', '0\r\nX-Service-Signature: a\r\n\r\n', '0\r\n', '', '00\r\n\r\n'])),
  ])
}

const breaks: readonly Break[] = [
  withHead((head, random) => head.replace(contentLength, `Content-Length: ${random.pick(lengths)}\r\n`)),
  withHead((head, random, body) =>
    head.replace(contentLength, `Content-Length: ${body.length + random.below(9) - 4}\r\n`),
  ),
  withHead((head, random) => `${head}Content-Length: ${random.pick(lengths)}\r\n`),
  withHead((head, random) => `${head}Transfer-Encoding: ${random.pick(codings)}\r\n`),
  withHead((head, random) => head + random.pick(lines)),
  withHead((head, random) => head.replace('HTTP/1.1', random.pick(versions))),
  withHead((head, random) => head.replace(/^\S+/, random.pick(methods))),
  withHead((head, random) => head.replace(/^(\S+) \S+/, (_all, method) => `${method} ${random.pick(targets)}`)),
  withHead((head) => head.replace(/Host: [^\r]*\r\n/, '')),
  withHead((head, random) => head.replaceAll('\r\n', random.pick(['\n', '\r', '\r\r\n']))),
  (request, random) => {
    const coding = random.chance(0.7) ? 'chunked' : random.pick(codings)
    const head = headOf(request).replace(contentLength, random.chance(0.8) ? '' : '$&')
    return Buffer.concat([latin1(`${head}Transfer-Encoding: ${coding}\r\n\r\n`), chunks(bodyOf(request), random)])
  },
  (request, random) => Buffer.concat([random.pick(preambles), request]),
  (request, random) => request.subarray(0, random.below(request.length)),
  (request, random) => Buffer.concat([mutateBytes(latin1(headOf(request)), random), latin1('\r\n'), bodyOf(request)]),
  (request) => Buffer.concat([request, request]),
  (request, random) => Buffer.concat([request, random.pick(preambles), request]),
  (request) => Buffer.concat([request, latin1('GET /admin/api/v1/companies HTTP/1.1\r\nHost: x\r\n\r\n')]),
  (_request, random) => Buffer.from(random.hex(2 * (1 + random.below(300))), 'hex'),
  () => Buffer.alloc(0),
]

/** Turns a request into bytes that may not be HTTP: wrong framing, other protocols, cuts, several requests in one. */
export const breakHttp = (request: Buffer, random: Random): Buffer => random.pick(breaks)(request, random)
