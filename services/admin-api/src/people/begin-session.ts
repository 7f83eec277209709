import { setCookies } from '@tributary/admin-http/cookies'
import { endSession } from '@tributary/tenancy/people/sessions/sessions'
import type { NewSession } from '@tributary/tenancy/people/sign-in'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Puts a new session into the cookies, and ends that of the browser before. */
export async function beginInBrowser(
  { pool, sessions }: Pick<AdminApiDeps, 'pool' | 'sessions'>,
  { caller, panel }: FastifyRequest,
  reply: FastifyReply,
  made: NewSession,
): Promise<void> {
  if (caller?.kind === 'person') {
    await endSession(pool, caller.session.person_id, caller.session.session_id)
    await sessions.find(caller.token, { anew: true }) // this process knows it at once
  }
  setCookies(reply, panel?.cookies ?? null, made)
}
