import { limits } from '../limits.ts'
import { utf8Bytes } from './take-batch.ts'

/** The `props` of a `_crash`: `name`, `message`, `stack` and the app's own props, cut to the service's limit. */
export function crashProps(error: unknown, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { name, message, stack } = (error instanceof Error ? error : { message: text(error) }) as Partial<Error>
  let chars = limits.crash_props_bytes_max
  for (;;) {
    const cut = (value: string | undefined) => value?.slice(0, chars)
    const shortened = { name: cut(name), message: cut(message), stack: cut(stack) }
    const props = { ...more, ...shortened }
    if (fits(props)) return props
    if (chars < 16) return shortened
    chars = Math.floor(chars / 2)
  }
}

function fits(props: Record<string, unknown>): boolean {
  try {
    return utf8Bytes(JSON.stringify(props)) <= limits.crash_props_bytes_max
  } catch {
    return false
  }
}

function text(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'unknown'
  }
}
