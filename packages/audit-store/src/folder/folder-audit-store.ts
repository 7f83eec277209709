import { randomBytes } from 'node:crypto'
import { link, mkdir, opendir, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Listed, RewritableAuditStore, Rewritten } from '../audit-store.ts'
import { createDirectories, type Directories } from './directories.ts'
import { hasCode } from './has-code.ts'
import { type JournalLimits, openJournaledObjects } from './journaled-objects.ts'
import { erasedPath, folderPath, isErasedName, objectPath, segmentOf } from './object-path.ts'

/** The steps of a rewriting that a crash may follow; see the numbered comments. */
export type RewriteStep = 1 | 2 | 3

export interface FolderAuditStoreOptions {
  dir: string
  /** Tests set these limits. */
  journal?: JournalLimits
  /** Tests have it called after each numbered step of a rewriting; throwing is the crash. */
  crash?(step: RewriteStep): void
}

/** Larger ones are written by themselves: a second copy in the journal would cost more than the syncs it spares. */
const journaled_bytes_max = 16 * 1024

/**
 * Write-once objects as files of a folder, for one process. An object is durable and whole under its name when `putOnce`
 * resolves: small ones by the journal (journaled-objects.ts), larger ones written and synced beside, then linked, which
 * never replaces, then their directory is synced.
 */
export async function openFolderAuditStore(options: FolderAuditStoreOptions): Promise<RewritableAuditStore> {
  const { dir, journal, crash = () => {} } = options
  const root = resolve(dir)
  const unfinished = join(root, '.tmp')
  await openRoot(root, unfinished)
  const directories = createDirectories(root)
  const journaled = await openJournaledObjects(root, journal)
  const putting = new Map<string, Promise<unknown>>()
  const prefix = randomBytes(6).toString('hex')
  let files = 0
  let closed = false

  const nextFile = () => join(unfinished, `${prefix}-${++files}`)
  const writeDurably = (path: string, content: Buffer) =>
    writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true })

  async function put(name: string, content: Buffer): Promise<'created' | 'exists'> {
    if (content.length > journaled_bytes_max) return putLarge(join(root, name), content)
    const outcome = await journaled.putOnce(name, content)
    // It may be a larger object that was linked and is not synced yet.
    if (outcome === 'exists') await directories.sync(dirname(join(root, name)))
    return outcome
  }

  async function putLarge(target: string, content: Buffer): Promise<'created' | 'exists'> {
    await journaled.whole()
    const directory = dirname(target)
    const file = nextFile()
    try {
      await Promise.all([writeDurably(file, content), directories.ensure(directory)])
      const outcome = await linkOnce(file, target, directory)
      // Even if it exists: the request that linked it may not have synced it yet.
      await Promise.all([directories.sync(directory), unlink(file)])
      return outcome
    } catch (error) {
      await rm(file, { force: true }).catch(() => {})
      throw error
    }
  }

  async function linkOnce(file: string, target: string, directory: string): Promise<'created' | 'exists'> {
    for (let again = true; ; again = false) {
      try {
        await link(file, target)
        return 'created'
      } catch (error) {
        if (hasCode(error, 'EEXIST')) return await assertObject(target)
        if (!again || !hasCode(error, 'ENOENT')) throw error
      }
      // An operator has removed old days by hand.
      directories.forget()
      await directories.ensure(directory)
    }
  }

  /** Rewrites an object if it is what the caller has read. */
  async function rewrite(name: string, previous: Buffer, work: (target: string) => Promise<void>): Promise<Rewritten> {
    // 1. No journal holds the old content. A crash now: nothing has changed.
    await journaled.release(name)
    crash(1)
    const target = join(root, name)
    if (!(await readObject(target))?.equals(previous)) return 'changed'
    await work(target)
    return 'done'
  }

  /** The file at `target` is the content, durably; before that it is what it was. */
  async function putInPlace(target: string, content: Buffer): Promise<void> {
    const file = nextFile()
    try {
      await writeDurably(file, content)
      // 2. The new content is durable beside. A crash now: the next start removes it.
      crash(2)
      await rename(file, target)
    } catch (error) {
      await rm(file, { force: true }).catch(() => {})
      throw error
    }
    await directories.sync(dirname(target))
  }

  /** Many objects share the wait for the disk: the journal takes their rests. */
  async function eraseObject(key: string, target: string, rest: Buffer): Promise<void> {
    const name = erasedPath(key)
    const outcome = await journaled.putOnce(name, rest)
    if (outcome === 'exists') await putInPlace(join(root, name), rest)
    // 3. The rest is durable under its name. A crash now: the object is still there, whole.
    crash(3)
    await unlink(target)
    await directories.sync(dirname(target))
  }

  /** Puts and rewritings of a name one after the other, even where the file system does not tell upper from lower case. */
  async function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const claim = name.toLowerCase()
    const before = putting.get(claim)
    const done = before === undefined ? work() : before.then(work)
    const over = done.then(
      () => {},
      () => {},
    )
    putting.set(claim, over)
    return done.finally(() => {
      if (putting.get(claim) === over) putting.delete(claim)
    })
  }

  function assertOpen() {
    if (closed) throw new Error('the audit store is closed')
  }

  return {
    async putOnce(key, content) {
      assertOpen()
      const name = objectPath(key)
      return inTurn(name, () => put(name, content))
    },
    async get(key) {
      assertOpen()
      return (await readObject(join(root, objectPath(key)))) ?? readObject(join(root, erasedPath(key)))
    },
    async replace(key, previous, content) {
      assertOpen()
      const name = objectPath(key)
      const isThere = content.equals(previous)
      return inTurn(name, () =>
        rewrite(name, previous, async (target) => {
          if (!isThere) await putInPlace(target, content)
        }),
      )
    },
    async erase(key, previous, rest) {
      assertOpen()
      const name = objectPath(key)
      return inTurn(name, () => rewrite(name, previous, (target) => eraseObject(key, target, rest)))
    },
    list(folder) {
      assertOpen()
      return listFolder(join(root, folderPath(folder)), folder, (path) => removeObject(root, directories, path))
    },
    async checkHealth() {
      assertOpen()
      const file = nextFile()
      await writeDurably(file, Buffer.from('health'))
      await unlink(file)
    },
    async close() {
      closed = true
      await Promise.all(putting.values())
      await journaled.close()
    },
  }
}

async function readObject(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG')) return null
    throw error
  }
}

type Remove = (path: string) => Promise<void>

async function* listFolder(path: string, folder: string, remove: Remove): AsyncGenerator<Listed> {
  const directory = await opendir(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw error
  })
  for await (const entry of directory ?? []) {
    if (entry.name.startsWith('.')) continue // a file of this store: no key begins with a dot
    const segment = segmentOf(entry.name)
    const key = segment === null ? null : folder + segment
    const file = join(path, entry.name)
    if (isErasedName(entry.name)) yield { kind: 'erased', remove: () => remove(file) }
    else if (entry.isFile()) yield { kind: 'object', key, read: () => readObject(file), remove: () => remove(file) }
    else if (entry.isDirectory() && key !== null) yield { kind: 'folder', folder: `${key}/` }
  }
}

/** Removes a file, and the folders that it leaves empty. */
async function removeObject(root: string, { sync }: Directories, path: string): Promise<void> {
  await rm(path, { force: true })
  for (let directory = dirname(path); directory !== root; directory = dirname(directory)) {
    const gone = await rmdir(directory).then(
      () => true,
      (error: unknown) => hasCode(error, 'ENOENT'),
    )
    if (gone) continue
    try {
      return await sync(directory) // of many removals together
    } catch (error) {
      // The removal of a neighbour took the directory away meanwhile.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
  await sync(root)
}

/** Throws for a folder of that name: `exists` would acknowledge what is not stored. */
async function assertObject(target: string): Promise<'exists'> {
  if (!(await stat(target)).isFile()) throw new Error('the audit key is the folder of other objects')
  return 'exists'
}

/** Makes the folder durably, and drops what a killed process left half-written. */
async function openRoot(root: string, unfinished: string): Promise<void> {
  const made = await mkdir(root, { recursive: true, mode: 0o700 })
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  for (const name of await readdir(unfinished)) await rm(join(unfinished, name), { force: true })
  if (made === undefined) return
  const { sync } = createDirectories(root)
  for (let path = root; ; path = dirname(path)) {
    await sync(dirname(path))
    if (path === resolve(made)) return
  }
}
