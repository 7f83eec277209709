import { CvSchemaShown } from '@tributary/contracts/admin/cv-schemas'
import type { Routes } from '@tributary/contracts/route'
import { findAsker, requireKeyHeaders } from '@tributary/gateway/sdk-keys'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { RouteDeps } from '../deps.ts'

export const schemaRoutes = {
  readCvSchema: {
    method: 'GET',
    path: '/skan/cv-schema',
    auth: 'sdk_keys',
    tag: 'Events',
    summary: 'The conversion value schema of an app',
    description:
      'For apps that set conversion values by it. Keep it for 24 hours, then send the `ETag` that came with it as `If-None-Match`: 304 means that it is still the one. No signature is needed. An Android app is answered as one without a schema.',
    headers: z.object({ 'If-None-Match': z.string().optional().describe('`ETag` of the answer before.') }),
    answers: {
      200: {
        schema: { CvSchemaShown },
        description: 'The schema that is live, with `ETag` and `Cache-Control`; nulls when none was published.',
        example: { app_id: 'app_1', version: null, schema: null } satisfies CvSchemaShown,
      },
      304: { description: 'The schema is still the one that `If-None-Match` names.' },
    },
  },
} satisfies Routes

const { readCvSchema } = schemaRoutes

/** A cache on the way must never answer one app with the schema of another. */
const cacheHeaders = { 'cache-control': 'max-age=86400', vary: 'X-Service-Company-Key, X-Service-App-Key' }

/** GET /skan/cv-schema. Memory answers it; it counts against no quota and no rate. */
export function schemaRoute(app: FastifyInstance, { credentials, liveSchemas }: RouteDeps): void {
  app.get(readCvSchema.path, { onRequest: requireKeyHeaders }, async (request, reply) => {
    const { app_id } = await findAsker(credentials, request)
    const live = await liveSchemas.find(app_id)
    if (live === null) throw new Error('an app with credentials is unknown to the look-up of schemas')
    reply.headers({ ...cacheHeaders, etag: live.etag })
    if (names(request.headers['if-none-match'], live.etag)) return reply.status(304).send()
    return reply.type('application/json; charset=utf-8').send(live.body)
  })
}

/** Whether an `If-None-Match` names a tag; a weak tag is as good (RFC 9110, 13.1.2). */
const names = (given: string | undefined, etag: string): boolean =>
  given !== undefined && (given === '*' || given.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
