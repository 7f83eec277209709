import { CodedError } from '@tributary/contracts/errors'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Asset } from './assets.ts'
import { contentSecurityPolicy } from './content-security-policy.ts'
import { type Documents, openDocuments } from './documents.ts'

/**
 * `/docs`: the guide, the reference, rules and examples, each as a page, and `/docs/openapi.json`. Public: it says nothing that
 * the repository does not. Pages and documents are requested again each time (`ETag`); files of the viewer carry their hash in
 * their names and are kept for ever. A page is made when somebody first reads it. `/` leads browsers here.
 */
export const apiDocs =
  (documents = openDocuments()): FastifyPluginAsync =>
  async (app) => {
    app.get('/docs', async (request, reply) => sendDocument(await documents(), '', request, reply))
    app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) =>
      sendDocument(await documents(), request.params['*'], request, reply),
    )
    app.get('/', { config: { unlisted: true } }, async ({ headers }, reply) => {
      if (!/\btext\/html\b/.test(headers.accept ?? '')) throw new CodedError('not_found')
      return reply.redirect('/docs')
    })
  }

async function sendDocument({ kept, find }: Documents, given: string, request: FastifyRequest, reply: FastifyReply) {
  const path = given.replace(/\/$/, '')
  const file = kept.get(path)
  if (file !== undefined) return sendAsset(request, reply, file, 'public, max-age=31536000, immutable')
  const found = await find(path)
  if (found === null) throw new CodedError('not_found')
  return sendAsset(request, reply, found, 'no-cache')
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
