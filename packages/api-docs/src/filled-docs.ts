import { CodedError } from '@tributary/contracts/errors'
import type { FastifyPluginAsync, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { contentSecurityPolicy } from './content-security-policy.ts'
import type { Documents } from './documents.ts'
import type { AppKeys } from './site/fill.ts'

export interface FilledDocsDeps {
  documents: () => Promise<Documents>
  /** Lets whoever may see keys pass. */
  authorize: onRequestAsyncHookHandler
  /** The apps whose keys whoever passed may see. A server key or a secret is never among them: it is only stored as a hash or encrypted. */
  findApps(request: FastifyRequest): Promise<AppKeys[]>
}

interface Request {
  Params: { '*'?: string }
  Querystring: { app?: string }
}

/** `/admin/docs`: the pages of `/docs` with the company key and app key of an app (`?app=ID`, else the first one) filled in. */
export const filledDocs =
  ({ documents, authorize, findApps }: FilledDocsDeps): FastifyPluginAsync =>
  async (app) => {
    for (const url of ['/admin/docs', '/admin/docs/*']) {
      app.get<Request>(url, { onRequest: authorize }, async (request, reply) => {
        const { params, query } = request
        const path = (params['*'] ?? '').replace(/\/$/, '')
        const page = await (await documents()).find(path)
        if (page === null || !page.type.startsWith('text/html')) throw new CodedError('not_found')
        const { fill } = await import('./site/fill.ts')
        reply.headers({
          'cache-control': 'no-store',
          'content-security-policy': contentSecurityPolicy,
          'referrer-policy': 'no-referrer',
        })
        return reply
          .type(page.type)
          .send(fill(page.bytes.toString(), await findApps(request as FastifyRequest), { path, app_id: query.app }))
      })
    }
  }
