import { limits } from '@tributary/contracts/limits'
import type { OpenSession } from '@tributary/tenancy/people/sessions/sessions'
import type { Pool } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFeedReaders } from '../../src/live/feed-readers.ts'
import { createStreams } from '../../src/live/streams.ts'

/** Streams of sessions that PostgreSQL knows as `answer` says. No timer looks. */
function openShown(answer: (hashes: readonly Buffer[]) => Promise<unknown[]> = async () => []) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const query = async (_sql: string, [hashes]: [Buffer[]]) => ({ rows: await answer(hashes) })
  const streams = createStreams({ pool: { query } as unknown as Pool, now: () => 1 })
  onTestFinished(() => streams.close())
  const open = (person_id: string, session: number, company_id: string) => {
    const memberships: OpenSession['memberships'] = []
    const known = {
      session_id: 's',
      person_id,
      email: 'a@b',
      complete: true,
      memberships,
      began_at_ms: 1,
      seen_at_ms: 1,
    }
    const token = `ses_${person_id}_${session}`
    return streams.open({ token, session: { ...known, proven_at_ms: 1, proven_by: 'password' } }, company_id)
  }
  return { ...streams, open }
}

const sessionOf = (session_hash: Buffer) => ({
  session_hash,
  complete: true,
  memberships: [],
  began_at_ms: 1,
  seen_at_ms: 1,
})

describe('live streams', () => {
  it('leave room for other people and other companies', () => {
    const { open } = openShown()
    const tryMany = (person_id: string) => {
      let opened = 0
      for (let n = 0; n < 50; n += 1)
        try {
          open(person_id, n, 'large')
          opened += 1
        } catch (error) {
          expect(error).toMatchObject({ code: 'rate_limited' })
        }
      return opened
    }
    const opened = Array.from({ length: 40 }, (_, n) => tryMany(`p_${n}`))
    expect(Math.max(...opened)).toBe(limits.live_streams_of_person_max)
    expect(opened.reduce((sum, one) => sum + one)).toBe(limits.live_streams_of_company_max)
    open('other', 0, 'small')
  })

  it('count until they are read to their end, and are cut when nobody reads them', async () => {
    const { open, look } = openShown(async (hashes) => hashes.map(sessionOf))
    const openAll = () => Array.from({ length: limits.live_streams_of_session_max }, () => open('p', 0, 'c'))
    for (const stream of openAll()) stream.end('over')
    expect(() => open('p', 0, 'c')).toThrow()
    for (let n = 0; n <= limits.live_stalled_ms_max / limits.live_session_ms; n += 1) await look()
    await vi.advanceTimersByTimeAsync(0)
    expect(openAll()).toHaveLength(limits.live_streams_of_session_max)
  })

  it('outlive one look that fails or hangs, and end after a few', async () => {
    let release = () => {}
    let asked = 0
    const failing = openShown(async () => {
      throw new Error('away')
    })
    const hanging = openShown(() => {
      asked += 1
      return new Promise((resolve) => {
        release = () => resolve([])
      })
    })
    for (const { open, look } of [failing, hanging]) {
      const stream = open('p', 0, 'c')
      for (let n = 0; n < limits.live_unanswered_max; n += 1) {
        void look()
        await vi.advanceTimersByTimeAsync(0)
        expect(stream.isOver()).toBe(false)
      }
      void look()
      expect(stream.body.read().toString()).toContain('unavailable')
    }
    expect(asked).toBe(1)
    release()
  })

  it('stay when they were opened while their sessions were read', async () => {
    const answers: (() => void)[] = []
    const { open, look } = openShown(
      (hashes) => new Promise((resolve) => answers.push(() => resolve(hashes.map(sessionOf)))),
    )
    open('p', 0, 'c')
    const looked = look()
    const stream = open('q', 0, 'c')
    answers[0]!()
    await looked
    expect(stream.isOver()).toBe(false)
  })
})

it('the apps that are watched leave room for those of other companies', async () => {
  const append = async () => {}
  const readers = createFeedReaders({
    keyValue: { append, read: async () => ({ texts: [], position: 0 }) },
    ring: 'ring',
    ringOf: (id) => id,
    toShown: (item) => item,
  })
  onTestFinished(() => readers.close())
  const watch = (company_id: string, app_id: string) => readers.watch({ company_id, id: app_id }, { take() {} })
  for (let n = 0; n < limits.live_apps_of_company_max; n += 1) await watch('large', `app_${n}`)
  await expect(watch('large', 'one_more')).rejects.toMatchObject({ code: 'rate_limited' })
  await watch('large', 'app_0')
  await watch('small', 'other')
})
