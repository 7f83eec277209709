/** Names of fields whose value is never written, wherever they stand. Company and app keys are names, not secrets. */
const secretNames =
  /^(key|jws|cookie|set-cookie)$|^(.*[_-])?(authorization|secret|password|passwd|token|receipt|signature|(server|master|access|api|private|secret)[_-]?key)$/i

const depth_max = 8
const items_max = 100

/** A copy for a log line: secrets by name at any depth, and in texts what looks like one; errors cut down to what they say. */
export function redact(fields: object): Record<string, unknown> {
  return redactMembers(fields, depth_max)
}

function redactMembers(fields: object, depth: number): Record<string, unknown> {
  const members = Object.entries(fields).slice(0, items_max)
  return Object.fromEntries(
    members.map(([name, value]) => [name, isSecret(name, value) ? '[redacted]' : redactValue(value, depth)]),
  )
}

const isSecret = (name: string, value: unknown): boolean =>
  secretNames.test(inSnakeCase(name)) && value !== undefined && value !== null

/** Clients of engines name theirs in camel case: `secretAccessKey`. */
const inSnakeCase = (name: string): string => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '[deep]'
  if (value instanceof Error) return redactError(value, depth - 1)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.slice(0, items_max).map((item) => redactValue(item, depth - 1))
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth - 1)
  return redactMembers(value, depth - 1)
}

/**
 * Type, message, stack, cause, and the plain values that clients of engines add (`code`, `syscall`, `address`). Not their
 * objects: ioredis puts the whole command there, AUTH and its password too.
 */
function redactError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error
  const plain = Object.entries(error).filter(([, value]) => typeof value !== 'object' && typeof value !== 'function')
  const errors = error instanceof AggregateError ? { errors: redactValue(error.errors, depth) } : {}
  return {
    type: error.constructor?.name ?? name,
    ...redactMembers(Object.fromEntries(plain), depth),
    message: redactText(message),
    stack: redactText(stack ?? ''),
    ...(cause === undefined ? {} : { cause: redactValue(cause, depth) }),
    ...errors,
  }
}

const shapes: readonly [RegExp, string][] = [
  // A password ends at the last `@`: one that nobody encoded holds `/`, `?` and `@` too.
  [/(:\/\/[^\s:/@"']*):[^\s"']+@/g, '$1:[redacted]@'],
  [/srv_[0-9a-f]{48}/g, 'srv_[redacted]'],
  [/\b(ses|brw|inv|rst)_[\w-]{43}/g, '$1_[redacted]'],
  [/\b(bearer|basic) [\w.~+/=-]{8,}/gi, '$1 [redacted]'],
]

/** A text without passwords in addresses, server keys, tokens of sessions and one-time links, and bearer tokens. */
const redactText = (text: string): string =>
  shapes.reduce((left, [shape, instead]) => left.replaceAll(shape, instead), text)
