import { closeSync, fdatasync, fstatSync, ftruncateSync, open, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

/** One object: where it belongs, relative to the folder of the store, and what it holds. */
export interface JournalRecord {
  name: string
  content: Buffer
}

export interface Journal {
  /** Its name in the folder of journals. */
  file: string
  /** The objects that its records name. */
  names: string[]
  bytes: number
  /** Resolves when the records are durable. Until `keep` they can be taken back. */
  append(records: readonly JournalRecord[]): Promise<void>
  keep(): void
  /** Takes back what was appended since `keep`, also half of it. Throws when this journal is no more to be used. */
  takeBack(): void
  close(): void
}

/** CRC-32 of what follows, bytes of the name, bytes of the content; then name and content. */
const head_bytes = 12

const opened = promisify(open)
const durable = promisify(fdatasync)

/** A new file; its directory is to be synced before the first record counts as durable. */
export async function createJournal(folder: string, file: string): Promise<Journal> {
  const fd = await opened(join(folder, file), 'wx', 0o600)
  let end = 0
  const journal: Journal = {
    file,
    names: [],
    bytes: 0,
    async append(records) {
      assertThere(fd)
      const written = Buffer.concat(records.flatMap(encode))
      for (let at = 0; at < written.length; ) {
        at += writeSync(fd, written, at, written.length - at, end + at)
      }
      end += written.length
      await durable(fd)
      for (const { name } of records) journal.names.push(name)
    },
    keep() {
      journal.bytes = end
    },
    takeBack() {
      ftruncateSync(fd, journal.bytes)
      assertThere(fd)
      end = journal.bytes
    },
    close: () => closeSync(fd),
  }
  return journal
}

/** Throws when the journal was removed: acknowledged objects would go into a file that nobody finds again. */
function assertThere(fd: number): void {
  if (fstatSync(fd).nlink === 0) throw new Error('the journal of the audit folder was removed')
}

/** The records of a journal, up to the one that a kill or a full disk cut off. */
export function readRecords(bytes: Buffer): JournalRecord[] {
  const records: JournalRecord[] = []
  for (let at = 0; at + head_bytes <= bytes.length; ) {
    const name_at = at + head_bytes
    const content_at = name_at + bytes.readUInt32LE(at + 4)
    const end = content_at + bytes.readUInt32LE(at + 8)
    if (end > bytes.length || crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32LE(at)) break
    records.push({ name: bytes.toString('utf8', name_at, content_at), content: bytes.subarray(content_at, end) })
    at = end
  }
  return records
}

function encode({ name, content }: JournalRecord): Buffer[] {
  const name_bytes = Buffer.byteLength(name)
  const head = Buffer.allocUnsafe(head_bytes + name_bytes)
  head.writeUInt32LE(name_bytes, 4)
  head.writeUInt32LE(content.length, 8)
  head.write(name, head_bytes)
  head.writeUInt32LE(crc32(content, crc32(head.subarray(4))), 0)
  return [head, content]
}
