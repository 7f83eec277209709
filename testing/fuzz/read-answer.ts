/** One HTTP answer. */
export interface HttpAnswer {
  status: number
  headers: Map<string, string>
  body: Buffer
}

const headEnd = '\r\n\r\n'

/** The first answer in the bytes; null while it is incomplete. */
export function readAnswer(bytes: Buffer, method: string): { answer: HttpAnswer; bytes: number } | 'no-http' | null {
  const head = bytes.indexOf(headEnd)
  if (head < 0)
    return bytes.length > 65_536 || !'HTTP/1.1 '.startsWith(bytes.toString('latin1', 0, 9)) ? 'no-http' : null
  const [first = '', ...lines] = bytes.toString('latin1', 0, head).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  if (!status) return 'no-http'
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const from = head + headEnd.length
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
    return { answer: { status, headers, body: Buffer.alloc(0) }, bytes: from }
  }
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes, from, { status, headers })
  const length = Number(headers.get('content-length') ?? 'none')
  if (!Number.isSafeInteger(length)) return 'no-http'
  if (bytes.length < from + length) return null
  return { answer: { status, headers, body: bytes.subarray(from, from + length) }, bytes: from + length }
}

function readChunks(bytes: Buffer, from: number, head: Omit<HttpAnswer, 'body'>) {
  const chunks: Buffer[] = []
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (!(size >= 0)) return 'no-http'
    const next = line + 2 + size + 2
    if (bytes.length < next) return null
    if (size === 0) return { answer: { ...head, body: Buffer.concat(chunks) }, bytes: next }
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}
