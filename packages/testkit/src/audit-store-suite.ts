import { randomBytes, randomUUID } from 'node:crypto'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** One store that can be opened again after it was closed. */
export interface AuditStoreUnderTest {
  open(): Promise<AuditStore>
  dispose(): Promise<void>
}

/** Endings of keys that a client could have chosen through an `event_id`; the gateway percent-encodes, the store must not rely on it. */
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
  /** The engine decides which of two puts at the same moment is the first. S3 does; its mock looks first and puts then. */
  atomic?: boolean
}

/** What every audit store promises (audit-store.ts). */
export function auditStoreSuite(
  name: string,
  start: () => Promise<AuditStoreUnderTest>,
  { atomic = true }: AuditStoreSuiteOptions = {},
): void {
  describe(`${name} keeps the promises of an audit store`, () => {
    let under: AuditStoreUnderTest
    let store: AuditStore
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

    it('gives an object back, also after it was closed', async () => {
      const content = randomBytes(100_000)
      expect(await store.putOnce(`${prefix}/a.json`, content)).toBe('created')
      expect(await store.putOnce(`${prefix}/empty.json`, Buffer.alloc(0))).toBe('created')
      await store.close()
      store = await under.open()
      expect((await store.get(`${prefix}/a.json`))?.equals(content)).toBe(true)
      expect(await store.get(`${prefix}/empty.json`)).toHaveLength(0)
    })

    it('has no object that was not put', async () => {
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

    it('keeps the names that clients choose apart', async () => {
      const keys = clientNames.map((clientName) => `${prefix}/${clientName}`)
      const outcomes = await Promise.all(keys.map((key) => store.putOnce(key, Buffer.from(key))))
      expect(new Set(outcomes)).toEqual(new Set(['created']))
      for (const key of keys) expect((await store.get(key))?.toString()).toBe(key)
    })

    it('holds an object of 8 MiB', async () => {
      const content = randomBytes(8 * 1024 * 1024)
      await store.putOnce(`${prefix}/large.json`, content)
      expect((await store.get(`${prefix}/large.json`))?.equals(content)).toBe(true)
    })

    it('is healthy while it is open', async () => {
      await store.checkHealth()
      await store.close()
      await expect(store.checkHealth()).rejects.toThrow()
    })
  })
}
