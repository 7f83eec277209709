import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Too large for the journal. */
const large_bytes = 100_000

describe('the audit folder', () => {
  let outer: string
  let dir: string
  beforeEach(async () => {
    outer = await mkdtemp(join(tmpdir(), 'tributary-audit-'))
    dir = join(outer, 'deep', 'store')
  })
  afterEach(() => rm(outer, { recursive: true, force: true }))

  /** Every path below `outer`. */
  const allPaths = () => readdir(outer, { recursive: true })

  it('lets no key leave the folder', async () => {
    const store = await openFolderAuditStore({ dir })
    const hostile = [
      '../../out.json',
      '/etc/out.json',
      'a/../../../out.json',
      'a//b.json',
      'c//',
      'e/',
      'a\0b.json',
      'd/..',
      '.tmp/x.json',
      'x/.tmp',
      '=2E=2E/out.json',
      '..%2F..%2Fout.json',
      `${'../'.repeat(50)}out.json`,
    ]
    for (const key of hostile) {
      expect([key, await store.putOnce(key, Buffer.from(key))]).toEqual([key, 'created'])
    }
    for (const key of hostile) expect((await store.get(key))?.toString()).toBe(key)
    for (const path of await allPaths())
      expect('deep/store'.startsWith(path) || path.startsWith('deep/store')).toBe(true)
    await expect(store.putOnce('\ud800.json', Buffer.from('x'))).rejects.toThrow()
    await store.close()
  })

  it('does not take a folder for an object', async () => {
    const store = await openFolderAuditStore({ dir })
    await store.putOnce('a/b.json', Buffer.from('b'))
    await expect(store.putOnce('a', Buffer.from('a'))).rejects.toThrow()
    await expect(store.putOnce('a/b.json/c', Buffer.from('c'))).rejects.toThrow()
    expect(await store.get('a')).toBeNull()
    await store.close()
  })

  it('maps different keys to different objects', async () => {
    const store = await openFolderAuditStore({ dir })
    const segment = fc.stringMatching(/^[=A-F0-9.%_h~ü ]{1,6}$/)
    await fc.assert(
      fc.asyncProperty(fc.uuid(), fc.uniqueArray(segment, { minLength: 2, maxLength: 8 }), async (run, names) => {
        for (const name of names) {
          expect(await store.putOnce(`${run}/${name}`, Buffer.from(name))).toBe('created')
        }
        for (const name of names) expect((await store.get(`${run}/${name}`))?.toString()).toBe(name)
      }),
      { numRuns: 30 },
    )
    await store.close()
  })

  it('drops what a killed process left half-written', async () => {
    await (await openFolderAuditStore({ dir })).close()
    await writeFile(join(dir, '.tmp', 'left-over'), 'half')
    const store = await openFolderAuditStore({ dir })
    await store.putOnce('a.json', Buffer.from('a'))
    await store.putOnce('a.json', Buffer.from('b'))
    await store.checkHealth()
    expect(await readdir(join(dir, '.tmp'))).toEqual([])
    await store.close()
  })

  it('goes on when an operator has removed old days by hand', async () => {
    const store = await openFolderAuditStore({ dir })
    await store.putOnce('audit/2026/01/01/a.json', Buffer.from('a'))
    await rm(join(dir, 'audit'), { recursive: true })
    expect(await store.putOnce('audit/2026/01/01/a.json', Buffer.from('again'))).toBe('created')
    expect((await store.get('audit/2026/01/01/a.json'))?.toString()).toBe('again')
    await store.close()
  })

  it('rejects when an object can not be written, and recovers', async () => {
    const store = await openFolderAuditStore({ dir })
    // A file where a directory is needed fails for root too, unlike missing permissions.
    await writeFile(join(dir, 'audit'), 'in the way')
    await expect(store.putOnce('audit/a.json', Buffer.from('a'))).rejects.toThrow()
    await rm(join(dir, '.tmp'), { recursive: true })
    await expect(store.checkHealth()).rejects.toThrow()
    await expect(store.putOnce('other/large.json', Buffer.alloc(large_bytes))).rejects.toThrow()
    await mkdir(join(dir, '.tmp'))
    await rm(join(dir, 'audit'))
    expect(await store.putOnce('audit/a.json', Buffer.from('a'))).toBe('created')
    expect(await readdir(join(dir, '.tmp'))).toEqual([])
    await store.close()
  })

  it('finishes what is under way before it closes', async () => {
    const store = await openFolderAuditStore({ dir })
    const puts = Array.from({ length: 20 }, (_, n) => store.putOnce(`${n}/a.json`, Buffer.from('a')))
    await store.close()
    expect(await Promise.all(puts)).toEqual(puts.map(() => 'created'))
    await expect(store.putOnce('late.json', Buffer.from('a'))).rejects.toThrow()
  })
})
