import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, readAsset, toAsset } from './assets.ts'
import { contentSecurityPolicy, page } from './page.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/**
 * `/docs` (the reference), `/docs/openapi.json` and the files of the viewer. Public: it says nothing that the repository
 * does not. The document and the page are requested again each time (`ETag`), the other files carry their hash in
 * their names and are kept for ever.
 */
export const apiDocs = (): FastifyPluginAsync => async (app) => {
  const [document, style, viewer, script] = await Promise.all([
    readAsset(join(root, 'docs', 'openapi.json'), 'application/json; charset=utf-8'),
    readAsset(fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui.css')), 'text/css; charset=utf-8'),
    readAsset(
      fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
      'text/javascript; charset=utf-8',
    ),
    readAsset(join(import.meta.dirname, '..', 'viewer', 'page.js'), 'text/javascript; charset=utf-8'),
  ])
  const kept = (name: string, extension: string, asset: Asset): string => {
    const path = `/docs/${name}.${asset.hash}.${extension}`
    app.get(path, (request, reply) => sendAsset(request, reply, asset, 'public, max-age=31536000, immutable'))
    return path
  }
  const html = page({
    style: kept('viewer', 'css', style),
    viewer: kept('viewer', 'js', viewer),
    script: kept('page', 'js', script),
  })
  const pageAsset = toAsset(Buffer.from(html), 'text/html; charset=utf-8')
  const fresh = (asset: Asset) => (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, asset, 'no-cache')
  app.get('/docs', fresh(pageAsset))
  app.get('/docs/', fresh(pageAsset))
  app.get('/docs/openapi.json', fresh(document))
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset, caching: string) {
  const zipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  // The tag names the bytes that are sent: a compressed file has another tag.
  const etag = `"${asset.hash}${zipped ? '-gzip' : ''}"`
  reply.headers({
    etag,
    vary: 'accept-encoding',
    'cache-control': caching,
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'no-referrer',
  })
  if (request.headers['if-none-match']?.includes(etag)) return reply.status(304).send()
  reply.type(asset.type)
  return zipped ? reply.header('content-encoding', 'gzip').send(asset.gzipped()) : reply.send(asset.bytes)
}
