import { once } from 'node:events'
import { appendFile, readFile } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'
import { answerOf, bulkService, event, eventsOf, jsonl, key, many, rejectedBeside, totals } from './bulk-service.ts'
import type { Reply } from './fake-service.ts'
import { fileWith, startTributary, tributary } from './run-tributary.ts'

describe('tributary backfill --resume', () => {
  it('continues after a kill -9 where it ended, and no line is lost or counted twice', async () => {
    const held = Promise.withResolvers<void>()
    let requests = 0
    const { shelf, env } = await bulkService(async (request, taken) => {
      requests += 1
      // The sixth request is taken but gets no answer. The process is killed at that moment.
      if (requests === 6) {
        taken.take(eventsOf(request))
        held.resolve()
      }
      return requests >= 6 && requests < 100 ? new Promise<Reply>(() => {}) : null
    })
    const events = many(12_000).map((one, n) => ({
      ...one,
      event_id: n % 2 === 0 ? one.event_id : undefined,
      install_uuid: n % 100 === 7 ? undefined : one.install_uuid,
    }))
    const path = await fileWith('a.jsonl', jsonl(events))
    const args = ['backfill', '--key', key, '--json', path]
    const first = startTributary(args, env)
    await held.promise
    const savedLine = async () => JSON.parse(await readFile(`${path}.backfill.json`, 'utf8')).line
    await vi.waitFor(async () => expect(await savedLine()).toBeGreaterThanOrEqual(2000), { timeout: 180_000 })
    first.child.kill('SIGKILL')
    await once(first.child, 'close')
    // Lines that a killed run wrote after its saved state must not be in the file twice.
    await appendFile(`${path}.rejected.jsonl`, `{"line":999999,"text":"${'x'.repeat(200_000)}`)
    requests = 100
    const second = await tributary([...args, '--resume'], env)
    expect(second.stderr).toBe('')
    const answer = answerOf(second)
    expect(answer).toEqual(totals(11_880, 120, expect.any(Number) as unknown as number))
    expect(answer.duplicates_possible).toBeGreaterThan(0)
    expect(answer.duplicates_possible).toBeLessThanOrEqual(2000)
    expect(shelf.events.size).toBe(11_880)
    expect((await rejectedBeside(path)).map(({ line }) => line)).toEqual(
      events.flatMap((_, n) => (n % 100 === 7 ? [n + 1] : [])),
    )
    const requests_before = requests
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual({ ...answer, seconds: expect.any(Number) })
    expect(requests).toBe(requests_before)
  })

  it('does not ask again about columns that an earlier run was told are meant', async () => {
    let revoked = true
    const { shelf, env } = await bulkService(() => {
      return revoked ? { status: 401, body: { error: 'unknown_or_revoked_key' } } : null
    })
    const header = 'event_id,event_name,event_ts_ms,install_uuid,colour'
    const path = await fileWith('a.csv', `${header}\ne1,level_up,1357000000000,i1,red\n`)
    const args = ['backfill', '--key', key, '--json', path]
    expect((await tributary([...args, '--extra-fields'], env)).code).toBe(1)
    revoked = false
    const resumed = await tributary([...args, '--resume'], env)
    expect(resumed).toMatchObject({ code: 0, stderr: '' })
    expect([...shelf.events.values()]).toMatchObject([{ colour: 'red' }])
    expect((await tributary(args, env)).code).toBe(2)
  })

  it('refuses to resume a file that has changed, and a second run at the same time', async () => {
    const { env } = await bulkService(() => null)
    const path = await fileWith('a.jsonl', jsonl(many(5)))
    const args = ['backfill', '--key', key, '--json', path]
    await tributary(args, env)
    await appendFile(path, jsonl([event(6)]))
    const changed = await tributary([...args, '--resume'], env)
    expect(changed).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(changed.stderr)).toMatchObject({ error: 'backfill_changed' })

    const open = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<null>()
    const slow = await bulkService(() => {
      open.resolve()
      return answer.promise
    })
    const first = startTributary(args, slow.env)
    await open.promise
    expect(JSON.parse((await tributary(args, slow.env)).stderr)).toMatchObject({ error: 'backfill_running' })
    answer.resolve(null)
    expect((await first.ended).code).toBe(0)
  })

  it('names --resume when it is interrupted, and continues there', async () => {
    const held = Promise.withResolvers<void>()
    let holds = true
    const { shelf, env } = await bulkService(async () => {
      if (!holds) return null
      held.resolve()
      return new Promise<Reply>(() => {})
    })
    const args = ['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(3000)))]
    const first = startTributary(args, env)
    await held.promise
    first.child.kill('SIGINT')
    const { code, stdout, stderr } = await first.ended
    expect([code, stdout, JSON.parse(stderr).error]).toEqual([1, '', 'interrupted'])
    expect(JSON.parse(stderr).message).toContain('--resume')
    holds = false
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual(totals(3000, 0))
    expect(shelf.events.size).toBe(3000)
  })

  it('stops with the code of a refused key, and can be resumed', async () => {
    let revoked = true
    const { shelf, env } = await bulkService(() => {
      return revoked ? { status: 401, body: { error: 'unknown_or_revoked_key' } } : null
    })
    const args = ['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(5)))]
    const refused = await tributary(args, env)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(refused.stderr)).toEqual({
      error: 'unknown_or_revoked_key',
      message: 'The server key is unknown or revoked.',
    })
    revoked = false
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual(totals(5, 0))
    expect(shelf.events.size).toBe(5)
  })
})
