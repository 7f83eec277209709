import pino, { type Logger, type LoggerOptions as LoggerOptionsOfPino } from 'pino'
import pretty from 'pino-pretty'
import { redact } from './redact.ts'

export type LogFormat = 'auto' | 'json' | 'pretty'

export interface LoggerOptions {
  name: string
  level: string
  /** `pretty`: a coloured line an entry for a person; `auto`: that on a terminal, else JSON. */
  format: LogFormat
  /** Each line is written before its call returns; by default threads of libuv write them. */
  sync?: boolean
}

/** Structured logs on stderr (stdout is for output that a person requested): object first, constant message. */
export function createLogger({ name, level, format, sync = false }: LoggerOptions): Logger {
  // `redact` makes plain objects of errors, so no serializer has anything left to do.
  const options: LoggerOptionsOfPino = {
    ...{ name, level, mixin: boundFields, mixinMergeStrategy: withoutRepeated },
    formatters: { log: redact, level: (word) => ({ level: word }) },
    serializers: { err: (value: unknown) => value },
  }
  if (!isPretty(format, process.stderr.isTTY)) return pino(options, pino.destination({ dest: 2, sync, minLength: 1 }))
  // pino-pretty spreads the field of this name over lines, whatever its options are; ours is `err`.
  return pino({ ...options, errorKey: 'error' }, pretty({ ...oneLine, destination: 2, sync: true }))
}

/** Names that pino writes in each line. */
const ofEachLine = { level: null, time: null, msg: null }
const fieldsOf = new WeakMap<Logger, object>()

/** What each line of a logger has already. */
function boundFields(_fields: object, _level: number, logger: Logger): object {
  const found = fieldsOf.get(logger) ?? { ...ofEachLine, ...logger.bindings() }
  fieldsOf.set(logger, found)
  return found
}

/** A JSON document with a key twice means something else to each reader: the other value gets the name `own_...`. */
function withoutRepeated(fields: object, bound: object): object {
  const entries = Object.entries(fields).filter(
    ([name, value]) => !Object.hasOwn(bound, name) || bound[name as never] !== value,
  )
  return Object.fromEntries(entries.map(([name, value]) => [Object.hasOwn(bound, name) ? `own_${name}` : name, value]))
}

const isPretty = (format: LogFormat, onTerminal: boolean): boolean =>
  format === 'pretty' || (format === 'auto' && onTerminal)

/** An entry is a line, whatever is in it: stacks are left to JSON. */
const oneLine = {
  singleLine: true,
  translateTime: 'HH:MM:ss',
  ignore: 'pid,hostname,name,err.stack,err.cause.stack',
  errorLikeObjectKeys: [],
}
