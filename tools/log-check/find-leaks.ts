import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A log line with a secret. `line` holds only the beginning of the secret. */
export interface Leak {
  what: string
  program: string
  line: string
}

/** The forms of secrets. */
const shapes: readonly [what: string, shape: RegExp][] = [
  ['a server key', /srv_[0-9a-f]{48}/],
  ['a token of a session, browser or link', /\b(?:ses|brw|inv|rst)_[\w-]{43}/],
  ['a signing secret, or a signature', /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/],
  ['an admin token', /(?<![0-9a-f]|srv_)[0-9a-f]{48}(?![0-9a-f])/],
  ['a key of 32 bytes', /(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{43}=(?!=)/],
  // settings are explained as `user:password@host`, and shown with `********` or `[redacted]`
  ['a password in an address', /:\/\/(?!user:password@)[^\s:/@"']*:(?!\*+@|\[redacted\]@)[^\s:/@"']+@/],
  ['a bearer token', /\bbearer [\w.~+/-]{8,}/i],
  ['a receipt', /receipt\\?["']?\s*[:=]\s*\\?["'](?!\[redacted\])[^"'\\]/i],
]

/** Shorter secrets would match ordinary text. */
const secret_chars_min = 12

/** The leaks of one log, by form and by the secrets with which programs were started. */
export function findLeaks(program: string, log: string, secrets: readonly string[]): Leak[] {
  const given = secrets.filter((secret) => secret.length >= secret_chars_min)
  return log.split('\n').flatMap((line) => {
    const found = shapes.map(([what, shape]) => [what, shape.exec(line)?.[0]] as const)
    const known = given
      .filter((secret) => line.includes(secret))
      .map((secret) => ['a secret of its settings', secret] as const)
    return [...found, ...known].flatMap(([what, text]) =>
      text === undefined
        ? []
        : [{ what, program, line: line.replaceAll(text, `${text.slice(0, 8)}...`).slice(0, 600) }],
    )
  })
}

/** All leaks in the logs that `keep-stderr.mjs` kept, and the number of programs that wrote a log. */
export function findKeptLeaks(dir: string): { programs: number; leaks: Leak[] } {
  const file = join(dir, 'secrets')
  const secrets = existsSync(file) ? [...new Set(readFileSync(file, 'utf8').split('\n'))] : []
  const logs = readdirSync(dir).filter((name) => name.endsWith('.log'))
  const leaks = logs.flatMap((name) => {
    const [program = '', ...lines] = readFileSync(join(dir, name), 'utf8').split('\n')
    return findLeaks(program, lines.join('\n'), secrets)
  })
  return { programs: logs.length, leaks }
}
