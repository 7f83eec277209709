import { cpSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openFolderAuditStore, type RewriteStep } from '@tributary/audit-store/folder'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const [secret, rest] = ['of-an-erased-person', 'what is left']
const key = `app_1/s2s/2026-01-31/${secret}.json`
const steps = { replace: [1, 2], erase: [1, 3] } satisfies Record<string, RewriteStep[]>
/** Small ones are in the journal when they are rewritten. */
const contents = [
  ['small', Buffer.from(secret)],
  ['large', Buffer.alloc(100_000, secret)],
] as const

describe('a rewriting of the audit folder', () => {
  let outer: string
  let dir: string
  beforeEach(async () => {
    outer = await mkdtemp(join(tmpdir(), 'tributary-audit-'))
    dir = join(outer, 'store')
  })
  afterEach(() => rm(outer, { recursive: true, force: true }))

  const copyAt = (step: number) => join(outer, `after-${step}`)

  /** Rewrites, with a copy of the folder as a kill after each step leaves it. */
  async function rewrite(how: 'replace' | 'erase', content: Buffer) {
    const taken: number[] = []
    const store = await openFolderAuditStore({
      dir,
      crash(step) {
        taken.push(step)
        cpSync(dir, copyAt(step), { recursive: true })
      },
    })
    await store.putOnce(key, content)
    await store.putOnce(`${key}~`, Buffer.from('neighbour'))
    expect(await store[how](key, content, Buffer.from(rest))).toBe('done')
    cpSync(dir, copyAt(4), { recursive: true })
    await store.close()
    expect(taken).toEqual(steps[how])
  }

  /** The files of a folder, names included, that hold the secret. */
  async function findSecret(folder: string): Promise<string[]> {
    const files = await readdir(folder, { recursive: true, withFileTypes: true })
    const found = await Promise.all(
      files.map(async (file) => {
        const path = join(file.parentPath, file.name)
        const bytes = file.isFile() ? await readFile(path) : Buffer.alloc(0)
        return path.slice(folder.length).includes(secret) || bytes.includes(secret) ? [path.slice(folder.length)] : []
      }),
    )
    return found.flat().filter((path) => !path.endsWith('~'))
  }

  describe.each(contents)('of an object that is %s', (_size, content) => {
    it.each(['replace', 'erase'] as const)(
      'leaves the old object or the new one, whole, after a kill anywhere, and `%s` then completes it',
      async (how) => {
        await rewrite(how, content)
        for (const step of [...steps[how], 4]) {
          const store = await openFolderAuditStore({ dir: copyAt(step) })
          const isNew = step === 4
          const found = await store.get(key)
          expect([step, found?.equals(isNew ? Buffer.from(rest) : content)]).toEqual([step, true])
          if (!isNew) expect(await store[how](key, content, Buffer.from(rest))).toBe('done')
          expect((await store.get(key))?.toString()).toBe(rest)
          expect((await store.get(`${key}~`))?.toString()).toBe('neighbour')
          await store.close()
          // The name of a replaced object stays.
          const left = how === 'replace' ? [`/${key}`] : []
          expect([step, await findSecret(copyAt(step))]).toEqual([step, left])
        }
      },
    )
  })

  it('holds the old content in no journal, whatever else is put meanwhile', async () => {
    const store = await openFolderAuditStore({ dir })
    const names = Array.from({ length: 200 }, (_, n) => `a/${n}`)
    await Promise.all(names.map((name) => store.putOnce(name, Buffer.from(`${secret} ${name}`))))
    const others = names.map((name) => store.putOnce(`b${name}`, Buffer.from(name)))
    const outcomes = names.map((name) => store.replace(name, Buffer.from(`${secret} ${name}`), Buffer.from(name)))
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['done']))
    cpSync(dir, copyAt(0), { recursive: true })
    await Promise.all(others)
    await store.close()
    expect(await findSecret(copyAt(0))).toEqual([])
    const again = await openFolderAuditStore({ dir: copyAt(0) })
    for (const name of names) expect((await again.get(name))?.toString()).toBe(name)
    await again.close()
  })

  it('ends while the folder is never idle', async () => {
    const store = await openFolderAuditStore({ dir })
    const content = Buffer.from(secret)
    await store.putOnce('a', content)
    const puts: Promise<unknown>[] = []
    let busy = true
    const putOn = () => {
      if (!busy) return
      puts.push(store.putOnce(`busy/${puts.length}`, content))
      setImmediate(putOn)
    }
    putOn()
    const replaced = store.replace('a', content, Buffer.from(rest))
    const outcome = await Promise.race([replaced, pause(180_000, 'not yet', { ref: false })])
    busy = false
    expect(outcome).toBe('done')
    await Promise.all(puts)
    await store.close()
  })

  it('of puts, rewritings and erasures of one key at once, each is judged by what is there', async () => {
    const store = await openFolderAuditStore({ dir })
    const first = Buffer.from('first')
    await store.putOnce('a', first)
    const outcomes = await Promise.all([
      store.replace('a', first, Buffer.from('one')),
      store.replace('a', first, Buffer.from('other')),
      store.putOnce('a', Buffer.from('put')),
      store.erase('a', Buffer.from('one'), Buffer.from('rest')),
      store.putOnce('a', Buffer.from('put again')),
    ])
    expect(outcomes).toEqual(['done', 'changed', 'exists', 'done', 'created'])
    expect((await store.get('a'))?.toString()).toBe('put again')
    await store.close()
  })
})
