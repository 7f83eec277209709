import type { Database } from 'lmdb'
import { describe, expect, it } from 'vitest'
import { type Entry, openShelf } from '../src/embedded-shelf.ts'

/** Commits what is put together while its disk works, as lmdb does. A commit takes `commit_ms`. */
function openSlowDisk(commit_ms: number) {
  const stored = new Map<string, Entry>()
  let commits = 0
  let commit: Promise<void> | null = null
  const change = (apply: () => void): Promise<boolean> => {
    commit ??= new Promise((resolve) => {
      setTimeout(() => {
        commit = null
        commits += 1
        resolve()
      }, commit_ms)
    })
    return commit.then(() => {
      apply()
      return true
    })
  }
  const database = {
    getRange: () => [...stored].map(([key, value]) => ({ key, value })),
    put: (key: string, entry: Entry) => change(() => stored.set(key, entry)),
    remove: (key: string) => change(() => stored.delete(key)),
  } as unknown as Database<Entry, string>
  return { database, stored, commits: () => commits }
}

describe('the entries of the embedded key-value store', () => {
  it('are written by a stop with few waits for the disk, and swept with few', async () => {
    let clock_ms = 0
    const disk = openSlowDisk(50)
    const shelf = openShelf(disk.database, () => clock_ms, { written_at_flush_only: true })
    for (let n = 0; n < 20_000; n += 1) shelf.put(`network ${n}`, { expires_at_ms: 60_000 })
    await shelf.flush()
    expect(disk.stored.size).toBe(20_000)
    expect(disk.commits()).toBeLessThan(50)
    clock_ms = 60_000
    const swept = await shelf.sweep()
    expect([swept, disk.stored.size]).toEqual([20_000, 0])
    expect(disk.commits()).toBeLessThan(100)
  })
})
