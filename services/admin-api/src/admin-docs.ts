import { findPerson } from '@tributary/admin-http/authenticate'
import { membershipsOf } from '@tributary/admin-http/caller'
import { readCookie } from '@tributary/admin-http/cookies'
import { readPanelOrigin } from '@tributary/admin-http/panel-origins'
import { asPassword, requireAdmin } from '@tributary/admin-http/require-admin'
import type { Documents } from '@tributary/api-docs/documents'
import { filledDocs } from '@tributary/api-docs/filled-docs'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import { listAppKeys } from '@tributary/tenancy/companies/app-keys'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from './deps.ts'

type AdminDocsDeps = Pick<
  AdminApiDeps,
  'pool' | 'admin_token' | 'now' | 'logger' | 'sessions' | 'admin_url' | 'trusted_proxies'
> & {
  documents: () => Promise<Documents>
}

/** `/admin/docs`: the documentation with the keys of an app, for whoever is signed in or holds the admin token. */
export const adminDocs =
  ({ pool, admin_token, now, logger, sessions, documents, ...address }: AdminDocsDeps): FastifyPluginAsync =>
  async (app) => {
    const countRefusal = countedLog(app, logger, 'wrong admin tokens')
    const admit = requireAdmin(admin_token, now, countRefusal, asPassword)
    const originOf = readPanelOrigin(address)
    app.decorateRequest('caller', null)
    const authorize = async (request: FastifyRequest) => {
      const token = readCookie(request.headers.cookie, originOf(request)?.cookies?.session)
      const person = await findPerson(sessions, token)
      if (person?.kind === 'person' && person.session.complete) {
        request.caller = person
        return
      }
      admit(request)
      request.caller = { kind: 'token' }
    }
    await app.register(
      filledDocs({ documents, authorize, findApps: (request) => listAppKeys(pool, membershipsOf(request)) }),
    )
  }
