import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'
import { redact } from './redact.ts'

export interface LoggerOptions {
  name: string
  level: string
  /** Coloured lines for a person instead of JSON. */
  pretty: boolean
}

/** Structured logs on stderr (stdout is for what a person asked to see): object first, constant message. */
export function createLogger({ name, level, pretty: forPerson }: LoggerOptions): Logger {
  // `redact` makes plain objects of errors, so no serializer has anything left to do.
  const options = { name, level, formatters: { log: redact }, serializers: { err: (value: unknown) => value } }
  if (!forPerson) return pino(options, pino.destination({ dest: 2, sync: false }))
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'pid,hostname,name', translateTime: 'HH:MM:ss' }))
}
