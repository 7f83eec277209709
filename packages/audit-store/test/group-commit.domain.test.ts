import { randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createGroupCommit, type GroupCommitOptions } from '@tributary/audit-store/group-commit'
import { describe, expect, it } from 'vitest'

/** A store whose writes end when told to, and a clock with timers that move when told to. */
interface Given {
  bytes_max?: number
  rest?: { group_rest_ms?: number }
  options?: Pick<GroupCommitOptions, 'pack' | 'rest_ms'>
}

function fixture({ bytes_max = 1000, rest = {}, options = {} }: Given = {}) {
  const objects = new Map<string, Buffer>()
  const underWay: { key: string; end: (failure?: Error) => Promise<void> }[] = []
  let now_ms = Date.UTC(2026, 0, 31, 12)
  const timers = new Set<{ at_ms: number; fire: () => void }>()
  const groups = createGroupCommit({
    store: {
      ...rest,
      putOnce: (key, content) =>
        new Promise((resolve, reject) => {
          const end = async (failure?: Error) => {
            underWay.splice(underWay.indexOf(entry), 1)
            if (failure) reject(failure)
            else resolve(objects.has(key) ? 'exists' : 'created')
            if (!failure && !objects.has(key)) objects.set(key, content)
            await new Promise(setImmediate)
          }
          const entry = { key, end }
          underWay.push(entry)
        }),
    },
    now: () => now_ms,
    ...options,
    linger_ms: 50,
    bytes_max,
    gateway: 'gw1',
    setTimer(fire, ms) {
      const timer = { at_ms: now_ms + ms, fire }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
  function pass(ms: number) {
    now_ms += ms
    for (const timer of [...timers]) {
      if (timer.at_ms <= now_ms && timers.delete(timer)) timer.fire()
    }
  }
  const append = (text: string, options: { app_id?: string; received_at_ms?: number } = {}) =>
    groups.append({
      owner: `co_1/${options.app_id ?? 'app_1'}`,
      received_at_ms: options.received_at_ms ?? now_ms,
      member: gzipSync(text),
    })
  const writeFirst = async () => {
    append('first')
    pass(0)
    await underWay[0]!.end()
  }
  const textOf = (key: string) => gunzipSync(objects.get(key)!).toString()
  return { groups, append, writeFirst, pass, underWay, objects, textOf, setClock: (ms: number) => (now_ms = ms) }
}

describe('audit groups', () => {
  it('write a lone request at once, under the key that was answered', async () => {
    const { append, pass, underWay, textOf } = fixture()
    const { audit_key, durable } = append('one\n')
    expect(audit_key).toMatch(/^audit\/2026\/01\/31\/co_1\/app_1\/\d{13}-gw1-1\.jsonl\.gz$/)
    pass(0)
    await underWay[0]!.end()
    await durable
    expect(textOf(audit_key)).toBe('one\n')
  })

  it('let requests share an object while a write is under way, in their order', async () => {
    const { append, pass, underWay, textOf } = fixture()
    append('first\n')
    pass(0)
    const shared = ['a\n', 'b\n', 'c\n'].map((text) => append(text))
    pass(20)
    expect(underWay).toHaveLength(1)
    await underWay[0]!.end()
    pass(0)
    expect(new Set(shared.map(({ audit_key }) => audit_key)).size).toBe(1)
    await underWay[0]!.end()
    await Promise.all(shared.map(({ durable }) => durable))
    expect(textOf(shared[0]!.audit_key)).toBe('a\nb\nc\n')
  })

  it('rest between two objects of a busy app', async () => {
    const { append, writeFirst, pass, underWay } = fixture()
    await writeFirst()
    append('second')
    pass(9)
    expect(underWay).toHaveLength(0)
    append('third')
    pass(1)
    expect(underWay).toHaveLength(1)
  })

  it('rest as long as the store declares, and write an idle app at once', async () => {
    const { append, writeFirst, pass, underWay } = fixture({ rest: { group_rest_ms: 20 } })
    await writeFirst()
    append('second')
    pass(19)
    expect(underWay).toHaveLength(0)
    pass(1)
    await underWay[0]!.end()
    pass(20)
    append('third')
    pass(0)
    expect(underWay).toHaveLength(1)
  })

  it('never wait longer than the linger, however slow the store', () => {
    const { append, pass, underWay } = fixture()
    append('first')
    pass(0)
    const { audit_key } = append('second')
    pass(49)
    expect(underWay).toHaveLength(1)
    pass(1)
    expect(underWay.map(({ key }) => key)).toContain(audit_key)
  })

  it('are packed as a whole, after a rest of their own, and fail alone when they cannot be', async () => {
    const full = new Error('no memory')
    const pack = async (members: readonly Buffer[]) => {
      if (members.length === 1) throw full
      return gzipSync(members.map((member) => gunzipSync(member).toString().toUpperCase()).join(''))
    }
    const { append, pass, underWay, textOf } = fixture({ options: { pack, rest_ms: 4 } })
    const alone = append('a')
    pass(0)
    await expect(alone.durable).rejects.toBe(full)
    const two = [append('b'), append('c')]
    pass(3)
    expect(underWay).toHaveLength(0)
    pass(1)
    await new Promise(setImmediate)
    await underWay[0]!.end()
    await Promise.all(two.map(({ durable }) => durable))
    expect(textOf(two[0]!.audit_key)).toBe('BC')
  })

  it('keep apps apart', () => {
    const { append, pass, underWay } = fixture()
    const keys = [append('a'), append('b', { app_id: 'app_2' })].map(({ audit_key }) => audit_key)
    pass(0)
    expect(underWay.map(({ key }) => key)).toEqual(keys)
    expect(new Set(keys).size).toBe(2)
  })

  it('begin a new object at midnight, at the size bound and for a member above it', () => {
    const { append, underWay } = fixture({ bytes_max: 100 })
    const before = append('x', { received_at_ms: Date.UTC(2026, 0, 31, 23, 59, 59, 999) })
    const after = append('x', { received_at_ms: Date.UTC(2026, 1, 1) })
    expect(before.audit_key).toContain('audit/2026/01/31/')
    expect(after.audit_key).toContain('audit/2026/02/01/')
    const keys = Array.from({ length: 8 }, () => append('x', { received_at_ms: Date.UTC(2026, 1, 1) }).audit_key)
    const members = [...Map.groupBy([after.audit_key, ...keys], (key) => key).values()].map(({ length }) => length)
    expect(members.length).toBeGreaterThan(1)
    expect(Math.max(...members) * gzipSync('x').length).toBeLessThanOrEqual(100)
    expect(underWay.length).toBeGreaterThan(1)
    const large = append(randomBytes(200).toString('hex'), { app_id: 'app_2' })
    expect(large.audit_key).toBe(underWay.at(-1)!.key)
  })

  it('fail together with their object, and not with the next', async () => {
    const { append, pass, underWay } = fixture()
    const failing = [append('a'), append('b')]
    pass(0)
    const fine = append('c')
    await underWay[0]!.end(new Error('disk full'))
    for (const { durable } of failing) await expect(durable).rejects.toThrow('disk full')
    pass(10)
    await underWay[0]!.end()
    await fine.durable
  })

  it('acknowledge nothing when the object exists already', async () => {
    const { append, pass, underWay, objects } = fixture()
    const { audit_key, durable } = append('a')
    objects.set(audit_key, Buffer.from('of someone else'))
    pass(0)
    await underWay[0]!.end()
    await expect(durable).rejects.toThrow('exists')
    expect(objects.get(audit_key)!.toString()).toBe('of someone else')
  })

  it('do not wait for a clock that was set back', () => {
    const { append, pass, underWay, setClock } = fixture()
    append('a')
    pass(0)
    setClock(Date.UTC(2025, 0, 1))
    append('b')
    pass(50)
    expect(underWay).toHaveLength(2)
  })

  it('write what is open when they close, and take nothing more', async () => {
    const { groups, append, pass, underWay } = fixture()
    append('a')
    pass(0)
    const { durable } = append('b')
    const closing = groups.close()
    await underWay[1]!.end()
    await durable
    await underWay[0]!.end()
    await closing
    expect(() => append('c')).toThrow()
  })
})
