import type { Header } from '../drafts/draft.ts'
import type { Random } from '../random.ts'

const oddValues = [
  ...['', ' ', '\t', 'null', '__proto__', '\u00e9\u00ff', '\u0080', '"', ',', ', ', ';;=', 'a, b', '*', '-1', '\\r\\n'],
  ...['$%7bjndi:ldap:x}', '%0d%0aX-Y: z', 'x'.repeat(600), 'x'.repeat(6000), '1'.repeat(50)],
]

/** Valid but unusual headers. */
const additions: readonly Header[] = [
  ['Expect', '100-continue'],
  ['Expect', '200-maybe'],
  ['Connection', 'close'],
  ['Connection', 'Upgrade, HTTP2-Settings'],
  ['Upgrade', 'h2c'],
  ['Upgrade', 'websocket'],
  ['TE', 'trailers'],
  ['Trailer', 'X-Service-Signature'],
  ['Content-Type', 'application/x-www-form-urlencoded'],
  ['Content-Type', 'multipart/form-data; boundary='],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', ';'],
  ['Content-MD5', 'x'],
  ['Accept', 'text/html'],
  ['Accept-Encoding', 'br;q=x'],
  ['Range', 'bytes=0-0,-1'],
  ['If-None-Match', '*'],
  ['Origin', 'null'],
  ['Access-Control-Request-Method', 'DELETE'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', '::ffff:999.1.1.1, 10.0.0.1%eth0, , [::1]:x'],
  ['Forwarded', 'for="[::1]:80";proto=x'],
  ['X-Original-URL', '/admin/api/v1/companies'],
  ['X-Forwarded-Host', 'evil.example'],
  ['Cookie', 'a=b; '.repeat(500)],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
]

const stored = ['User-Agent', 'X-Service-Sdk', 'X-Service-Platform', 'X-Request-Id', 'Content-Type', 'X-Forwarded-For']

/** Removes, doubles, changes or adds one to three headers. The content length stays correct. */
export function mutateHeaders<Draft extends { headers: Header[]; kind: string }>(draft: Draft, random: Random): Draft {
  const headers = draft.headers.map((header): Header => [...header])
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const at = random.below(headers.length)
    const header = headers[at] ?? ['X-Service-Sdk', 'fuzz-1']
    switch (random.below(8)) {
      case 0:
        headers.splice(at, 1)
        break
      case 1:
        headers.push([header[0], random.chance(0.5) ? header[1] : random.pick(oddValues)])
        break
      case 2:
        headers[at] = [header[0], random.pick(oddValues)]
        break
      case 3:
        headers[at] = [random.chance(0.5) ? header[0].toUpperCase() : header[0].toLowerCase(), `  ${header[1]}\t `]
        break
      case 4:
        headers.push([random.pick(stored), random.pick(oddValues)])
        break
      case 5: {
        const many = random.pick([30, 60, 120])
        for (let n = 0; n < many; n += 1) headers.push([`X-${n}`, 'x'.repeat(random.pick([1, 100]))])
        break
      }
      case 6:
        if (random.chance(0.1)) headers.push(['X-Large', 'x'.repeat(random.pick([12_000, 17_000, 70_000]))])
        break
      default:
        headers.push(random.pick(additions))
    }
  }
  return { ...draft, headers, kind: `${draft.kind} +headers` }
}
