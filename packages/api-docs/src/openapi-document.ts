import type { Routes } from '@tributary/contracts/route'
import { errorResponse, readMeanings } from './error-responses.ts'
import type { JsonSchema } from './json-schema.ts'
import { namedSchemas, toOperationObject } from './operation-object.ts'

/** A program that sends a signed batch. */
export interface CodeSample {
  lang: string
  label: string
  source: string
}

/** The texts of docs that the document holds. */
export interface DocumentTexts {
  /** docs/api.md */
  guide: string
  /** docs/errors.md */
  errors: string
  samples: readonly CodeSample[]
}

/** The OpenAPI 3.1 document of these routes, in their order. */
export function openapiDocument(routes: Routes, { guide, errors, samples }: DocumentTexts): JsonSchema {
  const meanings = readMeanings(errors)
  const paths: Record<string, JsonSchema> = Object.create(null)
  for (const [id, route] of Object.entries(routes)) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    const operation = toOperationObject(id, route, meanings)
    if (route.signed) operation['x-codeSamples'] = samples
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tributary',
      version: '1',
      description: `${asSection(guide)}\n\n## All errors\n\n${asSection(errors).replaceAll(/^## /gm, '### ')}`,
    },
    'x-comment': 'Made by `npm run dump`: do not edit.',
    servers: [{ url: '/', description: 'The service that serves this page.' }],
    tags,
    paths,
    components: {
      schemas: namedSchemas(Object.values(routes)),
      securitySchemes,
      parameters: { RequestId: requestId },
      headers,
      responses: {
        NotFound: errorResponse(['not_found'], meanings, headerRefs('X-Request-Id')),
        MethodNotAllowed: errorResponse(['method_not_allowed'], meanings, headerRefs('X-Request-Id', 'Allow')),
        UriTooLong: errorResponse(['uri_too_long'], meanings, headerRefs('X-Request-Id')),
      },
    },
  }
}

/** A page without its title, and with links to other pages as plain text: there are no such pages where this is shown. */
const asSection = (page: string): string =>
  page
    .replace(/^# .*\n+/, '')
    .replaceAll(/\[([^\]]+)\]\((?!https?:|#)[^)]+\)/g, '$1')
    .trim()

const tags = [
  { name: 'Events', description: 'Events in: from apps in signed batches, from backends with a server key.' },
  { name: 'Costs', description: 'What ads cost, from partners or files. Reports set it against what the ads brought.' },
  { name: 'Links', description: 'Clicks: tracking links that anybody may follow.' },
  { name: 'Postbacks', description: "Postbacks of Apple's devices. Nobody has credentials; Apple signs the bodies." },
  { name: 'Privacy', description: 'Requests to erase, carried out each night.' },
  { name: 'Reports', description: 'Numbers out. A server key sees the app that it is bound to.' },
  {
    name: 'Admin',
    description:
      'Companies, apps, keys, people. For the admin token, or for people by their roles; every change is kept in an audit log.',
  },
  { name: 'Service', description: 'For load balancers and monitoring.' },
]

const securitySchemes = {
  company_key: { type: 'apiKey', in: 'header', name: 'X-Service-Company-Key', description: '`co_live_` and hex.' },
  app_key: { type: 'apiKey', in: 'header', name: 'X-Service-App-Key', description: '`app_live_` and an identifier.' },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Signature',
    description: 'Lower-case hex HMAC-SHA256 of the exact bytes of the body, keyed with the signing secret of the app.',
  },
  server_key: { type: 'http', scheme: 'bearer', description: 'A server key: `srv_` and 48 hex characters.' },
  admin_token: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The admin token of the installation. In standalone clients outside of `TRIBUTARY_ADMIN_NETWORKS` get 404.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-tributary',
    description:
      'The session of a person; over http on a loopback address the cookie is `tributary_` and the port. A change also needs `Origin` and `X-Csrf-Token`.',
  },
}

const requestId = {
  name: 'X-Request-Id',
  in: 'header',
  description: 'Up to 128 visible ASCII characters of your own; echoed, and found in the log. Made when absent.',
  schema: { type: 'string' },
}

const header = (description: string, type = 'integer', required = false) => ({
  description,
  required,
  schema: { type },
})
const headers = {
  'X-Request-Id': header('Id of this request: yours, or one made for it.', 'string', true),
  'RateLimit-Limit': header('Requests of the key in 60 s.'),
  'RateLimit-Remaining': header('Requests that are left of them.'),
  'RateLimit-Reset': header('Seconds until more are left.'),
  'X-Service-Quota-Used': header('Events of the company in this month.'),
  'X-Service-Quota-Limit': header('Events of the company that a month may have; absent when unlimited.'),
  ETag: header(
    'Tag of this answer, for `If-None-Match`. A report has a weak one, if the request names its window.',
    'string',
  ),
  'X-Mature-Until-Ms': header('Only with CSV: `meta.mature_until_ms`, on cohorts and ltv.'),
  'X-Whole-Days': header('Only with CSV: `true` for `meta.whole_days`.', 'string'),
  'X-Rows': header('Only with CSV and `limit`: `meta.rows`.'),
  'X-Until-Ms': header('Exclusive end of the rows of the answer, Unix epoch ms: the start of the next window.'),
  'X-Complete-Until-Ms': header('Everything with a lesser `stored_at_ms` is stored, Unix epoch ms.'),
  'X-Raw-Epoch': header('Another one than before: the tables were put back or lost rows. Read all again.', 'string'),
  'X-Accel-Buffering': header('`no`: a proxy must pass each message on at once.', 'string'),
  'X-Missing-Rates': header(
    'Only with CSV: `meta.missing_rates`, separated by commas. Absent when there is none.',
    'string',
  ),
  'Retry-After': header('Seconds to wait before the request is sent again.'),
  'WWW-Authenticate': header('`Bearer`.', 'string'),
  Allow: header('Methods of the path.', 'string'),
  Location: header('Where to go.', 'string', true),
  'Cache-Control': header('How long the answer may be kept.', 'string', true),
}

const headerRefs = (...names: (keyof typeof headers)[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
