import { createHash } from 'node:crypto'
import { platformsOf } from '@tributary/client/deliver-events'
import { CliError } from '../errors.ts'
import { type Event, type FileLine, type OpenedFile, splitLines } from './lines.ts'

/** Room that the JSON around the events of one request takes. */
export const wrapping_bytes = 64

export interface EventLimits {
  /** Of one request. */
  body_bytes_max: number
}

/** Events of a JSON-lines file, one a line; blank lines are left out. */
export async function* jsonLines(
  file: OpenedFile,
  content: AsyncIterable<Buffer>,
  { body_bytes_max }: EventLimits,
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
    else if (text !== '') yield toFileLine(line, text, text, file, event_bytes_max)
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes).trim()
  } catch {
    return null
  }
}

/** `json` as an event to be sent, or why it can't be. `text` is how the line stands in the file. */
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
 * Null for what is no object. The client's own bytes are sent, so that nothing of them changes on the way (1e400,
 * duplicate keys). Throws for what is no JSON, or is nested too deep to be written again.
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
 * The `event_id` of a line that has none: the same for the same line of the same file, so that sending it again is a
 * duplicate to the service and never a second event.
 */
function eventIdOf(sha256: string, line: number): string {
  return `line-${createHash('sha256').update(`${sha256}:${line}`).digest('hex').slice(0, 32)}`
}

function withId(json: string, parsed: Record<string, unknown>, event_id: string): string {
  // `"event_id": null` is there already and the last of two keys wins: then the line is written anew.
  if (Object.hasOwn(parsed, 'event_id')) return JSON.stringify({ ...parsed, event_id })
  const rest = json.slice(1)
  return `{"event_id":"${event_id}"${Object.keys(parsed).length === 0 ? '' : ','}${rest}`
}

/** Refuses what is neither JSON lines nor CSV. */
export function checkFileName(path: string, kinds: RegExp, words: string): void {
  if (!kinds.test(path)) throw new CliError('wrong_file', `${path}: the name must end in ${words}.`)
}
