import type { Documents } from '@tributary/api-docs/documents'
import { filledDocs } from '@tributary/api-docs/filled-docs'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import { listAppKeys } from '@tributary/tenancy/companies/app-keys'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from './deps.ts'
import { asPassword, requireAdmin } from './require-admin.ts'

type AdminDocsDeps = Pick<AdminApiDeps, 'pool' | 'admin_token' | 'now' | 'logger'> & {
  documents: () => Promise<Documents>
}

/** `/admin/docs`: the documentation with the keys of an app, for whoever holds the admin token. */
export const adminDocs =
  ({ pool, admin_token, now, logger, documents }: AdminDocsDeps): FastifyPluginAsync =>
  async (app) => {
    const countRefusal = countedLog(app, logger, 'wrong admin tokens')
    const admit = requireAdmin(admin_token, now, countRefusal, asPassword)
    const authorize = async (request: FastifyRequest) => admit(request)
    await app.register(filledDocs({ documents, authorize, findApps: () => listAppKeys(pool) }))
  }
