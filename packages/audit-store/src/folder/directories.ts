import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Directories below a root: made once, remembered, and synced together. */
export interface Directories {
  /** Makes a directory and its parents; their entries are durable when resolved. */
  ensure(path: string): Promise<void>
  /** Makes the entries that a directory has now durable; calls made while one is under way share the next. */
  sync(path: string): Promise<void>
  /** Someone has removed directories behind our back. */
  forget(): void
}

/** Bounds the memory of a process that runs for years; forgetting only costs a few `mkdir`. */
const known_max = 10_000

/** `root` must exist. */
export function createDirectories(root: string): Directories {
  const known = new Map<string, Promise<void>>()
  const syncs = new Map<string, { running: Promise<void>; next: Promise<void> | null }>()

  function ensure(path: string): Promise<void> {
    if (path === root) return Promise.resolve()
    const made = known.get(path)
    if (made !== undefined) return made
    if (known.size >= known_max) known.clear()
    const making = make(path)
    known.set(path, making)
    making.catch(() => known.delete(path))
    return making
  }

  async function make(path: string): Promise<void> {
    const parent = dirname(path)
    await ensure(parent)
    await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await sync(parent)
  }

  function sync(path: string): Promise<void> {
    const current = syncs.get(path)
    if (current !== undefined) {
      // The one under way may have begun before our entry was there.
      current.next ??= current.running.catch(() => {}).then(() => startSync(path))
      return current.next
    }
    return startSync(path)
  }

  function startSync(path: string): Promise<void> {
    const state = { running: syncDirectory(path), next: null }
    syncs.set(path, state)
    const done = () => {
      if (syncs.get(path) === state && state.next === null) syncs.delete(path)
    }
    state.running.then(done, done)
    return state.running
  }

  return { ensure, sync, forget: () => known.clear() }
}

/** Makes the entries of a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
