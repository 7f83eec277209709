import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from 'lmdb'
import { describe, expect, it } from 'vitest'
import { type Entry, openShelf } from '../src/embedded-shelf.ts'

/** Turns of the event loop that a commit takes. */
const commit_turns = 100

/** Commits what is put together while its disk works, as lmdb does. While it is full each commit fails. */
function openSlowDisk() {
  const stored = new Map<string, Entry>()
  const disk = { full: false, commits: 0, changes: 0 }
  let commit: Promise<void> | null = null
  async function work() {
    for (let turn = 0; turn < commit_turns; turn += 1) await nextTurn()
    commit = null
    disk.commits += 1
    if (disk.full) throw new Error('no space is left')
  }
  async function change(apply: () => void): Promise<boolean> {
    disk.changes += 1
    commit ??= work()
    await commit
    apply()
    return true
  }
  const database = {
    getRange: () => [...stored].map(([key, value]) => ({ key, value })),
    put: (key: string, entry: Entry) => change(() => stored.set(key, entry)),
    remove: (key: string) => change(() => stored.delete(key)),
  } as unknown as Database<Entry, string>
  return { database, stored, disk }
}

describe('the entries of the embedded key-value store', () => {
  it('are written by a stop with few waits for the disk, and swept with few', async () => {
    let clock_ms = 0
    const { database, stored, disk } = openSlowDisk()
    const shelf = openShelf(database, () => clock_ms, { written_at_flush_only: true })
    for (let n = 0; n < 20_000; n += 1) shelf.put(`network ${n}`, { expires_at_ms: 60_000 })
    await shelf.flush()
    expect(stored.size).toBe(20_000)
    expect(disk.commits).toBeLessThan(10)
    clock_ms = 60_000
    const swept = await shelf.sweep()
    expect([swept, stored.size]).toEqual([20_000, 0])
    expect(disk.commits).toBeLessThan(20)
  })

  it('cost the disk nothing when they expire before they are written', async () => {
    let clock_ms = 0
    const { database, disk } = openSlowDisk()
    const shelf = openShelf(database, () => clock_ms, { written_at_flush_only: true })
    for (let n = 0; n < 1000; n += 1) shelf.put(`network ${n}`, { expires_at_ms: 60_000 })
    clock_ms = 60_000
    expect(await shelf.sweep()).toBe(1000)
    await shelf.flush()
    expect(disk.changes).toBe(0)
  })

  it('are not written once more at the stop when they were swept', async () => {
    let clock_ms = 0
    const { database, stored, disk } = openSlowDisk()
    stored.set('known', { expires_at_ms: 60_000 })
    const shelf = openShelf(database, () => clock_ms, { written_at_flush_only: true })
    shelf.put('known', { expires_at_ms: 60_000 })
    clock_ms = 60_000
    expect([await shelf.sweep(), stored.size, disk.changes]).toEqual([1, 0, 1])
    await shelf.flush()
    expect(disk.changes).toBe(1)
  })

  it('are written by the next flush, and swept by it, when the disk was full', async () => {
    let clock_ms = 0
    const { database, stored, disk } = openSlowDisk()
    const shelf = openShelf(database, () => clock_ms, { written_at_flush_only: true })
    for (let n = 0; n < 1000; n += 1) shelf.put(`network ${n}`, { expires_at_ms: 60_000 })
    disk.full = true
    await expect(shelf.flush()).rejects.toThrow('could not be written')
    disk.full = false
    await shelf.flush()
    expect(stored.size).toBe(1000)
    clock_ms = 60_000
    disk.full = true
    await expect(shelf.sweep()).rejects.toThrow('could not be written')
    disk.full = false
    await shelf.flush()
    expect(stored.size).toBe(0)
  })
})
