import { Readable } from 'node:stream'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { hasEnded } from '@tributary/domain/people/session-rules'
import { tokenHash } from '@tributary/tenancy/people/random-token'
import { findSessions, type OpenSession } from '@tributary/tenancy/people/sessions/sessions'
import type { Pool } from 'pg'
import { type Outlet, toMessage } from './viewer.ts'

type EndReason = Extract<LiveMessage, { kind: 'end' }>['reason']

/** The session that a stream depends on. */
interface StreamSession {
  token: string
  session: OpenSession
}

export interface Stream extends Outlet {
  body: Readable
  /** Says why, and ends; at once where something waits for a slow reader, unless the time is over. */
  end(reason: EndReason): void
  /** Whether its end is written; it may wait for its reader. */
  isOver(): boolean
  /** Called once, when nothing waits any more. */
  onEnd(work: () => void): void
}

export interface Streams {
  /** Throws where there are too many. The admin token has no session. The company is that of the app. */
  open(session: StreamSession | null, company_id: string): Stream
  /**
   * Ends streams whose session has ended, whose person has other roles by now, or whose reader takes nothing; and all of sessions
   * once the sessions could not be read for a while.
   */
  look(): Promise<void>
  close(): void
}

interface Open {
  stream: Stream
  session: (StreamSession & { hash: string; company_id: string }) | null
  /** Looks in a row that found more waiting than a viewer may have. */
  stalled: number
}

/** Streams of server-sent events that live as long as their sessions. */
export function createStreams({ pool, now }: { pool: Pool; now: () => number }): Streams {
  const all = new Set<Open>()
  let looking = false
  /** Looks in a row without an answer. */
  let unanswered = 0

  function assertRoom({ hash, session, company_id }: NonNullable<Open['session']>): void {
    const others = [...all].flatMap((open) => open.session ?? [])
    const of_session = others.filter((other) => other.hash === hash)
    const of_person = others.filter((other) => other.session.person_id === session.person_id)
    const of_company = others.filter((other) => other.company_id === company_id)
    if (
      of_session.length >= limits.live_streams_of_session_max ||
      of_person.length >= limits.live_streams_of_person_max ||
      of_company.length >= limits.live_streams_of_company_max
    )
      throw rateLimited(1000)
  }

  async function look(): Promise<void> {
    for (const open of all) cutWhenStalled(open)
    const asked = [...all].flatMap(({ stream, session }) => (session === null ? [] : { stream, session }))
    if (unanswered >= limits.live_unanswered_max) for (const { stream } of asked) stream.end('unavailable')
    unanswered = asked.length === 0 ? 0 : unanswered + 1
    if (looking || asked.length === 0) return
    looking = true
    const hashes = [...new Set(asked.map(({ session }) => session.hash))]
    const found = await findSessions(
      pool,
      hashes.map((hash) => Buffer.from(hash, 'base64')),
      now(),
    ).catch(() => null)
    looking = false
    if (found === null) return
    unanswered = 0
    for (const { stream, session } of asked) {
      const reason = whyEnded(session.session, found.get(session.hash), now())
      if (reason !== null) stream.end(reason)
    }
  }

  const timers = [
    setInterval(() => void look(), limits.live_session_ms),
    setInterval(() => {
      for (const { stream } of all) if (stream.waiting() === 0) stream.write(':\n\n')
    }, limits.live_heartbeat_ms),
  ]
  for (const timer of timers) timer.unref()

  return {
    open(given, company_id) {
      if (all.size >= limits.live_streams_max)
        throw new CodedError('unavailable', { message: 'Too many live streams.' })
      const session = given && { ...given, company_id, hash: tokenHash(given.token).toString('base64') }
      if (session !== null) assertRoom(session)
      const stream = createStream()
      const open = { stream, session, stalled: 0 }
      all.add(open)
      stream.onEnd(() => all.delete(open))
      return stream
    },
    look,
    close() {
      for (const timer of timers) clearInterval(timer)
      for (const { stream } of all) stream.end('unavailable')
    },
  }
}

const stalled_max = limits.live_stalled_ms_max / limits.live_session_ms

function cutWhenStalled(open: Open): void {
  const waiting_max = open.stream.isOver() ? 0 : limits.live_waiting_chars_max
  open.stalled = open.stream.waiting() > waiting_max ? open.stalled + 1 : 0
  if (open.stalled > stalled_max) open.stream.end('too_slow')
}

function whyEnded(began: OpenSession, found: OpenSession | undefined, now_ms: number): EndReason | null {
  if (found === undefined || !found.complete || hasEnded(found, now_ms)) return 'session_ended'
  return JSON.stringify(found.memberships) === JSON.stringify(began.memberships) ? null : 'rights_changed'
}

function createStream(): Stream {
  const body = new Readable({ read() {} })
  let over = false
  let closed = false
  const works: (() => void)[] = []
  body.once('close', () => {
    over = true
    closed = true
    for (const work of works.splice(0)) work()
  })
  return {
    body,
    write: (text) => void (over || body.push(text)),
    waiting: () => body.readableLength,
    isOver: () => over,
    end(reason) {
      if (reason !== 'over' && body.readableLength > 0) return void body.destroy()
      if (over) return
      over = true
      body.push(toMessage({ kind: 'end', reason }))
      body.push(null)
    },
    onEnd(work) {
      if (closed) work()
      else works.push(work)
    },
  }
}
