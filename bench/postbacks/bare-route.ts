import Fastify from 'fastify'
import { runDriven } from '../process/driven-process.ts'

/** One route of fastify that answers what it is sent, and stores nothing: what HTTP alone costs on this machine. */
async function openBareRoute() {
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/skan-postback', async () => ({ ok: true }))
  return { app, count: async () => 0, close: async () => {} }
}

if (import.meta.main) await runDriven(openBareRoute)
