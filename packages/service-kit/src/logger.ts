import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'

/** What is never written, wherever it stands in a logged object. */
const secretPaths = ['signing_secret', 'key', 'authorization', 'password', 'token', 'receipt', 'master_key'].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
)

export interface LoggerOptions {
  name: string
  level: string
  /** Coloured lines for a person instead of JSON. */
  pretty: boolean
}

/** Structured logs on stderr (stdout is for what a person asked to see): object first, constant message. */
export function createLogger({ name, level, pretty: forPerson }: LoggerOptions): Logger {
  const options = {
    name,
    level,
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: pino.stdSerializers.err },
  }
  if (!forPerson) return pino(options, pino.destination({ dest: 2, sync: false }))
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'pid,hostname,name', translateTime: 'HH:MM:ss' }))
}
