import { randomBytes, randomUUID } from 'node:crypto'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** One store that can be opened again after it was closed. */
export interface AuditStoreUnderTest {
  open(): Promise<RewritableAuditStore>
  dispose(): Promise<void>
}

/** Endings of keys that clients could choose through an `event_id`. The gateway encodes them, but the store must not rely on it. */
const clientNames = [
  'plain.json',
  'PLAIN2.json',
  '%2F.json',
  '%2e%2e%2f.json',
  '...json',
  '..',
  '.',
  '.hidden.json',
  'with space.json',
  'a+b&c=d?e#f;g:h*.json',
  'quote\'double".json',
  'back\\slash.json',
  'größe-日本-🙂.json',
  `${'%C3%BC'.repeat(64)}.json`,
  `${'y'.repeat(300)}.json`,
  `${'y'.repeat(301)}.json`,
]

interface AuditStoreSuiteOptions {
  /** Whether two puts at the same moment are atomic, as in S3. Its mock is not: it looks first and puts then. */
  atomic?: boolean
}

/** The promises of every audit store (audit-store.ts). */
export function auditStoreSuite(
  name: string,
  start: () => Promise<AuditStoreUnderTest>,
  { atomic = true }: AuditStoreSuiteOptions = {},
): void {
  describe(`${name} keeps the promises of an audit store`, () => {
    let under: AuditStoreUnderTest
    let store: RewritableAuditStore
    let prefix: string

    beforeEach(async () => {
      under = await start()
      store = await under.open()
      prefix = `app_${randomUUID()}/s2s/2026-01-31`
    })
    afterEach(async () => {
      await store.close()
      await under.dispose()
    })

    it('returns an object, also after a restart', async () => {
      const content = randomBytes(100_000)
      expect(await store.putOnce(`${prefix}/a.json`, content)).toBe('created')
      expect(await store.putOnce(`${prefix}/empty.json`, Buffer.alloc(0))).toBe('created')
      await store.close()
      store = await under.open()
      expect((await store.get(`${prefix}/a.json`))?.equals(content)).toBe(true)
      expect(await store.get(`${prefix}/empty.json`)).toHaveLength(0)
    })

    it('returns null for a key that was never put', async () => {
      await store.putOnce(`${prefix}/a.json`, Buffer.from('a'))
      for (const key of [`${prefix}/b.json`, prefix, `${prefix}/a.json/b`, `${prefix}/a`]) {
        expect(await store.get(key)).toBeNull()
      }
    })

    it('never replaces an object', async () => {
      expect(await store.putOnce(`${prefix}/a.json`, Buffer.from('first'))).toBe('created')
      expect(await store.putOnce(`${prefix}/a.json`, Buffer.from('second'))).toBe('exists')
      expect((await store.get(`${prefix}/a.json`))?.toString()).toBe('first')
    })

    it.skipIf(!atomic)('creates an object once when many put it at the same time', async () => {
      const puts = Array.from({ length: 20 }, async (_, n) => ({
        n,
        outcome: await store.putOnce(`${prefix}/a.json`, Buffer.from(`${n}`)),
      }))
      const created = (await Promise.all(puts)).filter(({ outcome }) => outcome === 'created')
      expect(created).toHaveLength(1)
      expect((await store.get(`${prefix}/a.json`))?.toString()).toBe(`${created[0]!.n}`)
    })

    it('keeps keys with strange names apart', async () => {
      const keys = clientNames.map((clientName) => `${prefix}/${clientName}`)
      const outcomes = await Promise.all(keys.map((key) => store.putOnce(key, Buffer.from(key))))
      expect(new Set(outcomes)).toEqual(new Set(['created']))
      for (const key of keys) expect((await store.get(key))?.toString()).toBe(key)
    })

    it('lists the direct children of a folder, at once and after a restart', async () => {
      const keys = clientNames.map((clientName) => `${prefix}/${clientName}`)
      await Promise.all(keys.map((key) => store.putOnce(key, Buffer.from(key))))
      await store.putOnce(`${prefix}/large.json`, Buffer.alloc(100_000, 'x'))
      await store.putOnce(`${prefix}/below/a/b.json`, Buffer.from('b'))
      const wanted = [...keys.filter((key) => key.length < 300), `${prefix}/large.json`, `folder ${prefix}/below/`]
      for (let again = 0; again < 2; again += 1) {
        const found = await Array.fromAsync(store.list(`${prefix}/`))
        const names = found.flatMap((one) => {
          if (one.kind === 'folder') return [`folder ${one.folder}`]
          return one.kind === 'object' ? [one.key] : []
        })
        // Long names are stored as their hash, so only their content shows the key.
        expect(names.filter((name) => name !== null).sort()).toEqual(wanted.toSorted())
        const contents = await Promise.all(found.map(async (one) => one.kind === 'object' && (await one.read())))
        const texts = contents
          .map((content) => (content ? content.toString() : ''))
          .filter((text) => text.startsWith('app_'))
        expect(texts.sort()).toEqual([...keys].sort())
        const [folders, none] = await Promise.all(
          [`${prefix.split('/')[0]}/`, `${prefix}/none/`].map((folder) => Array.fromAsync(store.list(folder))),
        )
        expect([folders, none]).toEqual([[{ kind: 'folder', folder: `${prefix.split('/')[0]}/s2s/` }], []])
        await store.close()
        store = await under.open()
      }
    })

    it('removes an object that it listed, for good and no other', async () => {
      const [gone, long, kept] = [`${prefix}/a/1.json`, `${prefix}/a/${'long'.repeat(80)}`, `${prefix}/b/2.json`]
      for (const key of [gone, long, kept]) await store.putOnce(key, Buffer.from(key))
      for await (const one of store.list(`${prefix}/a/`)) if (one.kind === 'object') await one.remove()
      expect(await Promise.all([gone, long, kept].map((key) => store.get(key)))).toEqual([
        null,
        null,
        Buffer.from(kept),
      ])
      expect(await Array.fromAsync(store.list(`${prefix}/`))).toMatchObject([{ folder: `${prefix}/b/` }])
      expect(await store.putOnce(gone, Buffer.from('again'))).toBe('created')
    })

    it('removes many objects of a folder at the same time while it lists them, and nothing beside it', async () => {
      const keys = Array.from({ length: 60 }, (_, n) => `${prefix}/gone/${n}.json`)
      await Promise.all([...keys, `${prefix}/kept/1.json`].map((key) => store.putOnce(key, Buffer.from('{}'))))
      const removed: Promise<void>[] = []
      for await (const one of store.list(`${prefix}/gone/`)) if (one.kind === 'object') removed.push(one.remove())
      await Promise.all(removed)
      expect(removed).toHaveLength(keys.length)
      expect(await Array.fromAsync(store.list(`${prefix}/`))).toMatchObject([{ folder: `${prefix}/kept/` }])
      expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map(() => null))
    })

    it('lists a folder with more names than a page, each once', async () => {
      const keys = Array.from({ length: 1100 }, (_, n) => `${prefix}/${n}.json`)
      for (let at = 0; at < keys.length; at += 50) {
        await Promise.all(keys.slice(at, at + 50).map((key) => store.putOnce(key, Buffer.from('{}'))))
      }
      const found = await Array.fromAsync(store.list(`${prefix}/`))
      expect(found.map((one) => (one.kind === 'object' ? one.key : null)).sort()).toEqual(keys.sort())
    })

    it('holds an object of 8 MiB', async () => {
      const content = randomBytes(8 * 1024 * 1024)
      await store.putOnce(`${prefix}/large.json`, content)
      expect((await store.get(`${prefix}/large.json`))?.equals(content)).toBe(true)
    })

    it.each([
      ['small', (text: string) => Buffer.from(text)],
      ['large', (text: string) => Buffer.alloc(100_000, text)],
      ['named by a hash', (text: string) => Buffer.from(text)],
    ])('replaces an object, %s, by a new version, which stays after a restart', async (name, of) => {
      const key = name === 'named by a hash' ? `${prefix}/${'y'.repeat(300)}.json` : `${prefix}/a.json`
      const [first, second, third] = ['first', 'second', 'third'].map(of)
      await store.putOnce(key, first!)
      expect(await store.replace(key, first!, second!)).toBe('done')
      expect(await store.replace(key, second!, second!)).toBe('done')
      expect((await store.get(key))?.equals(second!)).toBe(true)
      expect(await store.putOnce(key, third!)).toBe('exists')
      await store.close()
      store = await under.open()
      const found = await Array.fromAsync(store.list(`${prefix}/`))
      expect(found).toHaveLength(1)
      const [object] = found
      expect(object?.kind === 'object' && (await object.read())?.equals(second!)).toBe(true)
    })

    it('replaces and erases nothing that has changed since it was read, or is not there', async () => {
      const [key, none] = [`${prefix}/a.json`, `${prefix}/none.json`]
      const [present, other] = [Buffer.from('present'), Buffer.from('other')]
      await store.putOnce(key, present)
      expect(await store.replace(key, Buffer.from('earlier'), other)).toBe('changed')
      expect(await store.erase(key, Buffer.from('earlier'), other)).toBe('changed')
      for (const changed of [store.replace(none, other, other), store.erase(none, other, other)])
        expect(await changed).toBe('changed')
      expect((await store.get(key))?.toString()).toBe('present')
      expect(await store.get(none)).toBeNull()
    })

    it('erases an object with its name: the key answers the rest until it is put anew', async () => {
      const keys = clientNames.map((clientName) => `${prefix}/${clientName}`)
      await Promise.all(keys.map((key) => store.putOnce(key, Buffer.from(key))))
      for (const key of keys)
        expect(await store.erase(key, Buffer.from(key), Buffer.from(`rest of ${key}`))).toBe('done')
      await store.close()
      store = await under.open()
      for (const key of keys) expect((await store.get(key))?.toString()).toBe(`rest of ${key}`)
      const left = await Array.fromAsync(store.list(`${prefix}/`))
      expect(left.map(({ kind }) => kind)).toEqual(keys.map(() => 'erased'))
      const [key = ''] = keys
      expect(await store.putOnce(key, Buffer.from('a new life'))).toBe('created')
      expect((await store.get(key))?.toString()).toBe('a new life')
      expect(await store.erase(key, Buffer.from('a new life'), Buffer.from('again'))).toBe('done')
      expect((await store.get(key))?.toString()).toBe('again')
      for await (const one of store.list(`${prefix}/`)) if (one.kind === 'erased') await one.remove()
      expect(await Promise.all(keys.map((one) => store.get(one)))).toEqual(keys.map(() => null))
      expect(await Array.fromAsync(store.list(`${prefix}/`))).toEqual([])
    })

    it('leaves the neighbours of what it replaces and erases alone', async () => {
      const keys = ['a.json', 'a.json.b', 'a', 'b/a.json'].map((name) => `${prefix}/${name}`)
      for (const key of keys) await store.putOnce(key, Buffer.from(key))
      await store.erase(keys[0]!, Buffer.from(keys[0]!), Buffer.from(''))
      await store.replace(keys[2]!, Buffer.from(keys[2]!), Buffer.from('new'))
      expect((await store.get(keys[1]!))?.toString()).toBe(keys[1])
      expect((await store.get(keys[3]!))?.toString()).toBe(keys[3])
    })

    it('is healthy while it is open', async () => {
      await store.checkHealth()
      await store.close()
      await expect(store.checkHealth()).rejects.toThrow()
    })
  })
}
