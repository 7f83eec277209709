import { mkdirSync, statSync, unlinkSync } from 'node:fs'
import { mkdir, readdir, readFile, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { syncDirectory } from './directories.ts'
import { createJournal, type Journal, type JournalRecord, readRecords } from './journal.ts'
import { restore, writeNew } from './object-files.ts'
import { syncFiles } from './sync-files.ts'

export interface JournaledObjects {
  /**
   * Resolves once the object is durable and there; `exists`: a file was. Rejects when it may not be durable. Nobody else
   * may make a file of that name meanwhile.
   */
  putOnce(name: string, content: Buffer): Promise<'created' | 'exists'>
  /** Resolves when every file of the folder is whole, which after a failed write it may not be. */
  whole(): Promise<void>
  /**
   * Resolves when no journal holds a record of this name: no start brings its present content back. Nobody may put the
   * name meanwhile. Rejects while the disk does not take the files.
   */
  release(name: string): Promise<void>
  /** Finishes what is under way. A journal may stay, for the next start. */
  close(): Promise<void>
}

export interface JournalLimits {
  /** A journal is given up when it is as large or as old as that, and its objects are synced. */
  journal_bytes_max: number
  journal_ms_max: number
}

const default_limits: JournalLimits = { journal_bytes_max: 32 * 1024 * 1024, journal_ms_max: 60_000 }

/** Bounds the memory of a process that runs for years; forgetting only costs a few `mkdir`. */
const directories_max = 10_000

/** A journal is given up at the first try, unless the disk fails or another one is being given up. */
const releases_max = 5

interface Waiting {
  /** Null for a caller that only waits for a whole folder. */
  record: JournalRecord | null
  /** Gives the journal up: between two batches nothing is being appended to it. */
  ends_journal: boolean
  resolve(outcome: 'created' | 'exists'): void
  reject(error: unknown): void
}

/**
 * Small objects as files of a folder, which share their wait for the disk: those that come together are appended to a
 * journal with one sync, then each is written under its name without one. After a kill or a power cut a file can be missing
 * or cut off, but it has its record: the next start writes it again, before anybody reads. A record never contradicts
 * another object, since the file is looked up before its record is written. A batch that fails takes its files and records
 * back. The files are synced many at once, and only then their journal is removed.
 */
export async function openJournaledObjects(
  root: string,
  limits: JournalLimits = default_limits,
): Promise<JournaledObjects> {
  const folder = join(root, '.journal')
  const waiting: Waiting[] = []
  const directories = new Set<string>()
  let running: Promise<void> | null = null
  let flushing: Promise<void> | null = null
  let journal: Journal | null = null
  let timer: NodeJS.Timeout | undefined
  let journals = 0
  let sound = false

  /** Makes files of every record there is; the next objects get a journal of their own. */
  async function recover(): Promise<void> {
    clearInterval(timer)
    await flushing
    const names = journal?.names ?? []
    journal?.close()
    journal = null
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) await syncDirectory(root)
    const files = (await readdir(folder)).sort()
    for (const file of files) {
      for (const record of readRecords(await readFile(join(folder, file)))) {
        await restore(root, record)
        names.push(record.name)
      }
    }
    journals = Math.max(journals, Number(files.at(-1) ?? 0))
    sound = true
    if (files.length + names.length > 0) flushing = flush(files, names)
  }

  async function openJournal(): Promise<Journal> {
    const created = await createJournal(folder, `${++journals}`.padStart(12, '0'))
    await syncDirectory(folder)
    const retireSoon = () => void (running ?? Promise.resolve()).then(() => retire(created))
    timer = setInterval(retireSoon, limits.journal_ms_max).unref()
    return created
  }

  function retire(old: Journal): void {
    if (flushing !== null || journal !== old) return
    clearInterval(timer)
    journal = null
    old.close()
    flushing = flush([old.file], old.names)
  }

  /** Makes the objects of journals durable in their own files, then drops the journals. Never rejects. */
  async function flush(files: string[], names: string[]): Promise<void> {
    try {
      await syncFiles(root, names)
      for (const file of files) await unlink(join(folder, file))
    } catch {
      sound = false
    }
    flushing = null
  }

  /** Writes what waits, batch after batch. */
  async function run(): Promise<void> {
    await nextTurn() // objects that come in the same turn of the event loop share a sync
    while (waiting.length > 0) await runBatch(waiting.splice(0))
    running = null
  }

  async function runBatch(batch: Waiting[]): Promise<void> {
    try {
      if (!sound) await recover()
      if (journal !== null && batch.some(({ ends_journal }) => ends_journal)) retire(journal)
      const fresh = batch.flatMap((one) => (one.record !== null && isFree(one) ? [one.record] : []))
      if (fresh.length > 0) await create(fresh)
      for (const { resolve } of batch) resolve('created') // those that have their outcome keep it
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  /** All or none. */
  async function create(fresh: JournalRecord[]): Promise<void> {
    journal ??= await openJournal()
    const current = journal
    const made: string[] = []
    try {
      await current.append(fresh)
      for (const { name, content } of fresh) writeNew(join(root, name), content, made)
      current.keep()
    } catch (error) {
      takeBack(current, made)
      throw error
    }
    if (current.bytes >= limits.journal_bytes_max) retire(current)
  }

  /** Removes the traces of a batch that failed, as far as the disk allows it. */
  function takeBack(current: Journal, made: string[]): void {
    try {
      for (const path of made) unlinkSync(path) // first: a record still stands for what stays
      current.takeBack()
    } catch {
      sound = false
    }
  }

  /** Checks everything that can be wrong with a name before it gets into the journal. */
  function isFree({ record, resolve, reject }: Waiting): boolean {
    const path = join(root, record!.name)
    const directory = dirname(path)
    try {
      const found = statSync(path, { throwIfNoEntry: false })
      if (found !== undefined && !found.isFile()) throw new Error('the audit key is the folder of other objects')
      if (found !== undefined) resolve('exists')
      else if (!directories.has(directory)) makeDirectory(directory)
      return found === undefined
    } catch (error) {
      reject(error)
      return false
    }
  }

  function makeDirectory(directory: string): void {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    if (directories.size >= directories_max) directories.clear()
    directories.add(directory)
  }

  const enter = (record: JournalRecord | null, ends_journal = false) =>
    new Promise<'created' | 'exists'>((resolve, reject) => {
      waiting.push({ record, ends_journal, resolve, reject })
      running ??= run()
    })

  async function whole(): Promise<void> {
    if (!sound) await enter(null)
  }

  async function release(name: string): Promise<void> {
    for (let left = releases_max; left > 0; left -= 1) {
      await whole()
      await flushing // an older journal may hold the name
      if (sound && flushing === null && !journal?.names.includes(name)) return
      await enter(null, true)
    }
    throw new Error('the journal of the audit folder cannot be given up')
  }

  await recover()
  return {
    putOnce: (name, content) => enter({ name, content }),
    whole,
    release,
    async close() {
      await running
      clearInterval(timer)
      await flushing
      journal?.close()
      journal = null
    },
  }
}
