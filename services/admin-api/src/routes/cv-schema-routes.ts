import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { cvSchemaRoutes } from '@tributary/contracts/admin/cv-schemas'
import { CodedError } from '@tributary/contracts/errors'
import type { CvSchemaDraft } from '@tributary/contracts/postback/cv-schema'
import { findSchemaChanges } from '@tributary/domain/postback/schema-changes'
import { findSchemaFaults } from '@tributary/domain/postback/schema-faults'
import { getCvSchema, publishCvSchema } from '@tributary/tenancy/companies/cv-schemas'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Conversion value schemas: publish, show, compare. The last two may be repeated. */
export function addCvSchemaRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  addRoute(app, cvSchemaRoutes.publishCvSchema, ({ body: { app_id, schema } }, request) => {
    mustFit(schema)
    return publishCvSchema(pool, app_id, schema.postbacks, adminRequest(request, now))
  })
  addRoute(app, cvSchemaRoutes.getCvSchema, ({ query: { app_id, version } }) => getCvSchema(pool, app_id, version))
  addRoute(app, cvSchemaRoutes.compareCvSchema, async ({ body: { app_id, schema } }) => {
    mustFit(schema)
    const live = await getCvSchema(pool, app_id)
    return { changes: findSchemaChanges(live.schema?.postbacks ?? [], schema.postbacks) }
  })
}

/** Throws `invalid_field` that names the first part that does not fit to the others. */
function mustFit(schema: CvSchemaDraft): void {
  const [fault] = findSchemaFaults(schema)
  if (fault === undefined) return
  throw new CodedError('invalid_field', { field: `schema.${fault.path}`, message: fault.message })
}
