import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminApi } from '@tributary/admin-api/app'
import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { healthRoutes } from '@tributary/contracts/health'
import { isAdminAuth, type Route, type Routes } from '@tributary/contracts/route'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { linkGateway } from '@tributary/link-gateway/app'
import { postbackGateway } from '@tributary/postback-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createHealth } from '@tributary/service-kit/service/health'
import { declaredRoutes, routesOfServices } from '@tributary/standalone/declared-routes'
import { declaredServices } from '@tributary/testing/declared-services'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { openapiText } from '../dump-openapi.ts'

/** What the services need to register their routes; no request is answered here. */
const deps = {
  registry: new Registry(),
  logger: pino({ level: 'silent' }),
  now: Date.now,
  admin_token: 'a'.repeat(64),
  checks: {},
  troubles: [],
}

const plugins: Record<keyof typeof routesOfServices | 'every process', [ReturnType<typeof adminApi>, Routes]> = {
  'ingest-gateway': [ingestGateway(deps as never), routesOfServices['ingest-gateway']],
  'link-gateway': [linkGateway(deps as never), routesOfServices['link-gateway']],
  'postback-gateway': [postbackGateway(deps as never), routesOfServices['postback-gateway']],
  'report-api': [reportApi({ ...deps, people: deps, raw: deps } as never), routesOfServices['report-api']],
  'admin-api': [adminApi(deps as never), routesOfServices['admin-api']],
  'every process': [async (app) => createHealth(deps as never).routes(app), healthRoutes],
}

it.each(Object.entries(plugins))(
  '%s answers the routes that it declares, and no other',
  async (_name, [plugin, declared]) => {
    const answered = new Set<string>()
    const app = createHttpApp({ logger: deps.logger, trusted_proxies: [] })
    app.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) if (one !== 'HEAD') answered.add(`${one} ${url}`)
    })
    await app.register(plugin)
    await app.close()
    const routes = Object.values(declared).flatMap(({ method, path, served_at = path, cors }) => [
      `${method} ${served_at}`,
      ...(cors ? [`OPTIONS ${served_at}`] : []),
    ])
    expect([...answered].toSorted()).toEqual([...new Set(routes)].toSorted())
  },
)

it('knows the routes of every service that has some', async () => {
  const withRoutes = (await declaredServices()).filter(({ hasRoutes }) => hasRoutes).map(({ name }) => name)
  expect(Object.keys(routesOfServices).toSorted()).toEqual(withRoutes)
})

it('gives each route a name of its own', () => {
  const all = [...Object.values(routesOfServices), healthRoutes].flatMap((routes) => Object.keys(routes))
  expect(Object.keys(declaredRoutes).toSorted()).toEqual(all.toSorted())
})

it('gives each schema a name of its own', () => {
  const contents = Object.values<Route>(declaredRoutes).flatMap(({ body, answers }) => [
    body,
    ...Object.values(answers),
  ])
  const named = contents.flatMap((content) =>
    content?.schema === undefined || content.schema instanceof z.ZodType ? [] : Object.entries(content.schema),
  )
  for (const [name, all] of Map.groupBy(named, ([name]) => name)) {
    expect({ name, schemas: new Set(all.map(([, schema]) => schema)).size }).toEqual({ name, schemas: 1 })
  }
})

it('keeps every admin route below the prefix that the load balancer forwards to operators alone', () => {
  const outside = Object.values<Route>(declaredRoutes).filter(({ auth, path }) => {
    return isAdminAuth(auth) !== path.startsWith('/admin/api/v1/')
  })
  expect(outside).toEqual([])
  expect(Object.keys(adminRoutes).length).toBeGreaterThan(15)
})

it('has docs/openapi.json made from the declarations', async () => {
  const written = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'openapi.json'), 'utf8')
  expect(written).toBe(await openapiText())
})
