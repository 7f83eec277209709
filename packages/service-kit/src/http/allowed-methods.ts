import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Other methods of this path are answered as if it was not there. */
    unlisted?: boolean
  }
}

/** The methods that the routes of a path take; none where there is no such path. */
export type AllowedMethods = (path: string) => string[]

/** Collects the routes that are added from now on; the function returned gives the methods of a path. */
export function collectRoutes(app: FastifyInstance): AllowedMethods {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.unlisted) return
    const source = url
      .split('/')
      .map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part).replace('\\*', '.*')))
    routes.push({ pattern: new RegExp(`^${source.join('/')}$`), methods: [method].flat() })
  })
  return (path) => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}

/** The path of a URL as routes are found: `/%65vent` is `/event`, and `%2F` no slash. As sent where it cannot be decoded. */
export function pathOf(url: string): string {
  const path = url.split('?', 1)[0] ?? '/'
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
