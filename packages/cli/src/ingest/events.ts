import { createHash } from 'node:crypto'
import { platformsOf } from '@tributary/client/deliver-events'
import { CliError } from '../errors.ts'
import { type Event, type FileLine, type OpenedFile, splitLines } from './lines.ts'
import { type Mapping, mapped } from './mapping.ts'

/** Bytes of the JSON around the events of one request. */
export const wrapping_bytes = 64

export interface EventLimits {
  /** Limit of one request. */
  body_bytes_max: number
}

/** Events of a JSON-lines file, one per line, with the constants of a mapping. Skips blank lines. */
export async function* jsonLines(
  file: OpenedFile,
  content: AsyncIterable<Buffer>,
  { body_bytes_max, mapping }: EventLimits & { mapping: Mapping },
): AsyncGenerator<FileLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const event_bytes_max = body_bytes_max - wrapping_bytes
  for await (const { line, bytes, cut } of splitLines(content, event_bytes_max)) {
    if (cut) {
      yield { line, text: bytes.toString('utf8'), reason: 'body_too_large' }
      continue
    }
    const text = decode(decoder, bytes)
    if (text === null) yield { line, text: bytes.toString('utf8'), reason: 'bad_json' }
    else if (text !== '') yield toFileLine(line, text, mapped(text, mapping), file, event_bytes_max)
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes).trim()
  } catch {
    return null
  }
}

/** The event of `json`, or the reason why it can't be sent. `text` is the line in the file. */
export function toFileLine(line: number, text: string, json: string, file: OpenedFile, bytes_max: number): FileLine {
  let event: Event | null
  try {
    event = toEvent(line, json, file)
  } catch {
    return { line, text, reason: 'bad_json' }
  }
  if (event === null) return { line, text, reason: 'missing_required_fields' }
  if (Buffer.byteLength(event.json) > bytes_max) return { line, text, reason: 'body_too_large' }
  return { line, text, event }
}

/**
 * Null when the JSON is not an object. The line is sent byte for byte, because parsing would change some values (1e400,
 * duplicate keys). Throws when the line is not JSON, or is nested too deep to be written again.
 */
function toEvent(line: number, json: string, file: OpenedFile): Event | null {
  const value: unknown = JSON.parse(json)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const parsed = value as Record<string, unknown>
  const own_id = parsed.event_id !== undefined && parsed.event_id !== null
  return {
    json: own_id ? json : withId(json, parsed, eventIdOf(file.sha256, line)),
    own_id,
    event_name: parsed.event_name,
    platforms: platformsOf(parsed),
  }
}

/**
 * The `event_id` of a line without one. It depends on the file and the line only, so a repeated line is a duplicate and
 * never a second event.
 */
function eventIdOf(sha256: string, line: number): string {
  return `line-${createHash('sha256').update(`${sha256}:${line}`).digest('hex').slice(0, 32)}`
}

function withId(json: string, parsed: Record<string, unknown>, event_id: string): string {
  // The line has `"event_id": null`, which would win over an id before it. The line is written anew.
  if (Object.hasOwn(parsed, 'event_id')) return JSON.stringify({ ...parsed, event_id })
  const rest = json.slice(1)
  return `{"event_id":"${event_id}"${Object.keys(parsed).length === 0 ? '' : ','}${rest}`
}

/** Refuses a file name without one of the allowed endings. */
export function checkFileName(path: string, kinds: RegExp, words: string): void {
  if (!kinds.test(path)) throw new CliError('wrong_file', `${path}: the file name must end in ${words}.`)
}
