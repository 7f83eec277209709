import { createHash } from 'node:crypto'
import { createReadStream, type ReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { CliError } from '../errors.ts'

/** One line with its event, or with the reason why it can't be sent. */
export type FileLine = {
  /** Number of the line, from 1. */
  line: number
  /** The line in the file, cut when it is too long. */
  text: string
} & ({ event: Event } | { reason: string; message?: string })

/** A line that is not meant to be sent, and the reason. */
export interface SkippedLine {
  line: number
  text: string
  skipped: string
}

export interface Event {
  /** JSON of the event, always with an `event_id`. */
  json: string
  /** False when the line had no `event_id` and the command made one. */
  own_id: boolean
  event_name: unknown
  /** Each platform that the event names, `ios` or `android` (docs/rules.md#platform-rule). */
  platforms: readonly string[]
}

export interface OpenedFile {
  /** Lower-case hexadecimal SHA-256 of the bytes of the file. */
  sha256: string
  bytes: number
  is_csv: boolean
  /** Opens the content, unpacked for `.gz`. `bytesRead` is the position in the file itself. */
  open(): { content: AsyncIterable<Buffer>; bytesRead(): number }
}

/** Opens a `.jsonl`, `.csv`, `.jsonl.gz` or `.csv.gz` file, and reads it once for its fingerprint. Throws CliError `file_not_found`. */
export async function openFile(path: string): Promise<OpenedFile> {
  const name = path.replace(/\.gz$/i, '')
  const { size } = await stat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return {
    sha256: hash.digest('hex'),
    bytes: size,
    is_csv: /\.csv$/i.test(name),
    open() {
      const file = createReadStream(path, { highWaterMark: 256 * 1024 })
      return { content: unpacked(file, path), bytesRead: () => file.bytesRead }
    },
  }
}

async function* unpacked(file: ReadStream, path: string): AsyncGenerator<Buffer> {
  const content = /\.gz$/i.test(path) ? file.pipe(createGunzip()) : file
  file.on('error', (error) => content.destroy(error))
  try {
    yield* content
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code.startsWith('Z_')) throw new CliError('bad_gzip', `${path} is broken gzip: ${message}.`)
    throw error
  } finally {
    file.destroy()
  }
}

/** Bytes kept of a line that is too long. */
const cut_bytes = 1000

export interface RawLine {
  line: number
  bytes: Buffer
  /** True when the line is longer than allowed; `bytes` is then only its beginning. */
  cut: boolean
}

/** Splits content into lines without their line feed. Memory is bounded by `bytes_max`, however long a line is. */
export async function* splitLines(content: AsyncIterable<Buffer>, bytes_max: number): AsyncGenerator<RawLine> {
  let line = 1
  let parts: Buffer[] = []
  let size = 0
  const take = (part: Buffer) => {
    if (size <= bytes_max) parts.push(part)
    size += part.length
  }
  const finish = (): RawLine => {
    const cut = size > bytes_max
    const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const found = { line, bytes: cut ? Buffer.from(whole.subarray(0, cut_bytes)) : whole, cut }
    line += 1
    parts = []
    size = 0
    return found
  }
  for await (const chunk of content) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, end))
      yield finish()
      from = end + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
  if (size > 0) yield finish()
}
