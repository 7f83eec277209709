import { existsSync, globSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { CodedError } from '@tributary/contracts/errors'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type BuiltPanel, builtPanel, panel_dir } from './built-panel.ts'
import { waiting_script, waitingPage } from './waiting-page.ts'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const encodings = [
  { name: 'br', end: '.br' },
  { name: 'gzip', end: '.gz' },
]

/** Nothing from anywhere else, nothing inline, no frames, no text that becomes markup. */
const policy = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
}

/** The files of a build by their names, such as `index.html` and `assets/main-1a2b.js`. */
type Files = ReadonlyMap<string, Buffer>

/**
 * The pages of `/admin/`. Each is the same document, which reads its address. Files have their hash in their names and are kept
 * for ever. While the panel is being built, a page says so and loads itself again.
 */
export const panel = (built: BuiltPanel = builtPanel()): FastifyPluginAsync => {
  let files: Files | undefined
  const find = () => {
    files ??= existsSync(built.dir) ? readFiles(built.dir) : undefined
    return files
  }
  const sendPage = (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(headers).header('cache-control', 'no-cache')
    const found = find()
    if (found !== undefined) return sendFile(found, 'index.html', request, reply)
    return reply
      .header('retry-after', '1')
      .type('text/html; charset=utf-8')
      .send(waitingPage(existsSync(built.failure)))
  }
  return async (app) => {
    const unlisted = { config: { unlisted: true } }
    app.get('/admin', unlisted, (_request, reply) => reply.redirect('/admin/'))
    app.get('/admin/', unlisted, sendPage)
    app.get('/admin/icon.svg', unlisted, (_request, reply) =>
      reply
        .headers(headers)
        .type(types['.svg']!)
        .send(readFileSync(join(panel_dir, 'src', 'icon.svg'))),
    )
    app.get('/admin/waiting.js', unlisted, (_request, reply) =>
      reply.headers(headers).header('cache-control', 'no-cache').type(types['.js']!).send(waiting_script),
    )
    app.get<{ Params: { name: string } }>('/admin/assets/:name', unlisted, (request, reply) => {
      // A file that is not there may come with the next build, or from another process.
      reply.headers(headers).header('cache-control', 'no-cache')
      return sendFile(find() ?? new Map(), `assets/${request.params.name}`, request, reply, for_ever)
    })
    for (const path of ['/admin/:page', '/admin/:page/:id'])
      app.get<{ Params: { page: string } }>(path, unlisted, (request, reply) => {
        if (request.params.page === 'api') throw new CodedError('not_found')
        return sendPage(request, reply)
      })
  }
}

const readFiles = (dir: string): Files =>
  new Map(globSync('**/*.*', { cwd: dir }).map((name) => [name, readFileSync(join(dir, name))]))

const for_ever = 'public, max-age=31536000, immutable'

function sendFile(files: Files, name: string, { headers }: FastifyRequest, reply: FastifyReply, cache = 'no-cache') {
  const type = types[extname(name)]
  const bytes = files.get(name)
  if (bytes === undefined || type === undefined) throw new CodedError('not_found')
  reply.type(type).header('cache-control', cache)
  const accepted = headers['accept-encoding'] ?? ''
  const encoding = encodings.find((one) => accepted.includes(one.name) && files.has(`${name}${one.end}`))
  if (encoding === undefined) return reply.send(bytes)
  return reply.header('content-encoding', encoding.name).send(files.get(`${name}${encoding.end}`))
}
