import { appendFile, cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 10 }
/** Too large for the journal. */
const large = Buffer.alloc(100_000, 'l')

describe('the journal of the audit folder', () => {
  let outer: string
  let dir: string
  let store: AuditStore
  beforeEach(async () => {
    outer = await mkdtemp(join(tmpdir(), 'tributary-audit-'))
    dir = join(outer, 'store')
    store = await openFolderAuditStore({ dir })
  })
  afterEach(async () => {
    await store.close()
    await rm(outer, { recursive: true, force: true })
  })

  const put = (name: string, text = name) => store.putOnce(name, Buffer.from(text))
  const read = async (name: string) => (await store.get(name))?.toString()
  const journals = (of = dir) => readdir(join(of, '.journal'))

  /** Goes on with what was on the disk at this moment, changed by `damage`, as after a kill or a power cut. */
  async function cutPower(damage: (copy: string) => Promise<unknown>) {
    const copy = join(outer, 'copy')
    await cp(dir, copy, { recursive: true })
    await damage(copy)
    await store.close()
    store = await openFolderAuditStore({ dir: copy })
    dir = copy
  }

  it('brings back what was acknowledged and had no file, half of one, or one without its bytes', async () => {
    await Promise.all(['a/1', 'a/2', 'a/3', 'b/4'].map((name) => put(name)))
    await cutPower(async (copy) => {
      await truncate(join(copy, 'a', '2'), 1)
      await writeFile(join(copy, 'a', '3'), '\0\0\0')
      await rm(join(copy, 'b'), { recursive: true })
    })
    for (const name of ['a/1', 'a/2', 'a/3', 'b/4']) {
      expect(await read(name)).toBe(name)
      expect(await put(name, 'other')).toBe('exists')
    }
  })

  it('passes over a record that was cut off', async () => {
    await put('a')
    await put('b')
    await cutPower(async (copy) => {
      const [file = ''] = await journals(copy)
      const path = join(copy, '.journal', file)
      await truncate(path, (await readFile(path)).length - 1)
      await appendFile(path, Buffer.alloc(10_000))
      await rm(join(copy, 'a'))
      await rm(join(copy, 'b'))
    })
    expect(await read('a')).toBe('a')
    expect(await read('b')).toBeUndefined()
    expect(await put('b', 'again')).toBe('created')
    expect(await read('b')).toBe('again')
  })

  it('keeps no journal once the files of its objects are on the disk', async () => {
    await store.close()
    store = await openFolderAuditStore({ dir, journal: { journal_bytes_max: 1000, journal_ms_max: 60_000 } })
    for (let n = 0; n < 50; n += 1) await put(`full/${n}`)
    await put('full/last', 'l'.repeat(1000))
    await vi.waitFor(async () => expect((await journals()).length).toBeLessThanOrEqual(1), patience)
    await store.close()
    store = await openFolderAuditStore({ dir, journal: { journal_bytes_max: 1_000_000, journal_ms_max: 20 } })
    await put('old/1')
    await vi.waitFor(async () => expect(await journals()).toEqual([]), patience)
    for (const name of ['full/0', 'full/49', 'old/1']) expect(await read(name)).toBe(name)
  })

  it('keeps one of several objects of a name, small and large', async () => {
    const contents = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? large : Buffer.from(`${n}`)))
    const outcomes = await Promise.all(contents.map((content) => store.putOnce('a', content)))
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
    const kept = contents[outcomes.indexOf('created')]
    await cutPower(async () => {})
    expect((await store.get('a'))?.equals(kept!)).toBe(true)
  })

  it('refuses while its journal is gone, and recovers', async () => {
    await put('a')
    await rm(join(dir, '.journal'), { recursive: true })
    await expect(put('b')).rejects.toThrow()
    expect(await put('c')).toBe('created')
    await cutPower((copy) => rm(join(copy, 'c')))
    expect(await read('c')).toBe('c')
  })

  it('refuses an object whose file can not be made, and leaves nothing of it', async () => {
    await put('a/1')
    await rm(join(dir, 'a'), { recursive: true })
    await writeFile(join(dir, 'a'), 'in the way')
    await expect(put('a/2')).rejects.toThrow()
    expect(await put('b')).toBe('created')
    await rm(join(dir, 'a'))
    await cutPower((copy) => rm(join(copy, 'b')))
    expect(await read('b')).toBe('b')
    expect(await read('a/2')).toBeUndefined()
    expect(await put('a/2', 'again')).toBe('created')
  })
})
