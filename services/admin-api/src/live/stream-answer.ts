import { membershipsOf } from '@tributary/admin-http/caller'
import { managers } from '@tributary/contracts/admin/people/roles'
import { mayGive } from '@tributary/domain/people/rights'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import type { FeedReaders } from './feed-readers.ts'
import type { Stream } from './streams.ts'
import type { Shown } from './viewer.ts'

export interface LiveDeps extends Pick<AdminApiDeps, 'pool' | 'keyValue' | 'clickhouse' | 'now'> {
  elapsed: () => number
}

/** Parts that the streaming routes share. */
export interface LiveParts {
  apps: FeedReaders<Shown>
  /** Opens the stream of a request for an app, and begins its answer. Throws where there are too many. */
  openStream(request: FastifyRequest, reply: FastifyReply, company_id: string): Stream
}

export function endAfter(stream: Stream, seconds: number): void {
  const timer = setTimeout(() => stream.end('over'), seconds * 1000)
  stream.onEnd(() => clearTimeout(timer))
}

/** Answers with a stream. Left open, the connection would hold up the stop of the process. */
export function send(reply: FastifyReply, stream: Stream): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', connection: 'close', 'x-accel-buffering': 'no' })
  return reply.type('text/event-stream; charset=utf-8').send(stream.body)
}

/** Whether a caller may see raw JSON and addresses of an app. */
export function mayReadRaw(request: FastifyRequest, app: { app_id: string; company_id: string }): boolean {
  const memberships = membershipsOf(request)
  return memberships === null || mayGive(managers, memberships, app)
}
