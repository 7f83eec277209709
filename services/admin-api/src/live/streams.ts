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
  /** Called once, whoever ends it. */
  onEnd(work: () => void): void
}

export interface Streams {
  /** Throws where there are too many. The admin token has no session. */
  open(session: StreamSession | null): Stream
  /** Ends streams whose session has ended, whose person has other roles by now, or whose reader takes nothing. */
  look(): Promise<void>
  close(): void
}

interface Open {
  stream: Stream
  session: (StreamSession & { hash: string }) | null
  /** Looks in a row that found more waiting than a viewer may have. */
  stalled: number
}

/** Streams of server-sent events that live as long as their sessions. */
export function createStreams({ pool, now }: { pool: Pool; now: () => number }): Streams {
  const all = new Set<Open>()
  const ofSession = (hash: string) => [...all].filter(({ session }) => session?.hash === hash)

  async function look(): Promise<void> {
    for (const open of all) cutWhenStalled(open)
    const hashes = new Set([...all].flatMap(({ session }) => session?.hash ?? []))
    if (hashes.size === 0) return
    const found = await findSessions(
      pool,
      [...hashes].map((hash) => Buffer.from(hash, 'base64')),
    ).catch(() => null)
    for (const { stream, session } of all) {
      if (session === null) continue
      const reason = found === null ? 'unavailable' : whyEnded(session.session, found.get(session.hash), now())
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
    open(given) {
      if (all.size >= limits.live_streams_max)
        throw new CodedError('unavailable', { message: 'Too many live streams.' })
      const session = given && { ...given, hash: tokenHash(given.token).toString('base64') }
      if (session && ofSession(session.hash).length >= limits.live_streams_of_session_max) throw rateLimited(1000)
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
  open.stalled = open.stream.waiting() > limits.live_waiting_chars_max ? open.stalled + 1 : 0
  if (open.stalled > stalled_max) open.stream.end('too_slow')
}

function whyEnded(began: OpenSession, found: OpenSession | undefined, now_ms: number): EndReason | null {
  if (found === undefined || !found.complete || hasEnded(found, now_ms)) return 'session_ended'
  return JSON.stringify(found.memberships) === JSON.stringify(began.memberships) ? null : 'rights_changed'
}

function createStream(): Stream {
  const body = new Readable({ read() {} })
  let ended = false
  const works: (() => void)[] = []
  const finish = () => {
    ended = true
    for (const work of works.splice(0)) work()
  }
  body.once('close', finish)
  return {
    body,
    write: (text) => void (ended || body.push(text)),
    waiting: () => body.readableLength,
    end(reason) {
      if (ended) return
      if (reason !== 'over' && body.readableLength > 0) return void body.destroy()
      body.push(toMessage({ kind: 'end', reason }))
      body.push(null)
      finish()
    },
    onEnd(work) {
      if (ended) work()
      else works.push(work)
    },
  }
}
