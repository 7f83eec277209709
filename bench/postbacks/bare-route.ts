import { join } from 'node:path'
import Fastify from 'fastify'
import { runDriven } from '../process/driven-process.ts'
import { openSyncedFile } from '../process/synced-file.ts'

/** `synced` has the bytes on the disk before it answers; the other one stores nothing. */
export interface BareOrder {
  data_dir: string
  synced: boolean
}

/** One route of fastify that takes any body: what HTTP alone, or with it the disk, costs on this machine. */
async function openBareRoute({ data_dir, synced }: BareOrder) {
  const file = synced ? await openSyncedFile(join(data_dir, 'postbacks')) : null
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/skan-postback', async ({ body }) => {
    await file?.append(`${body}\n`)
    return { ok: true }
  })
  return { app, count: async () => 0, close: async () => file?.close() }
}

if (import.meta.main) await runDriven(openBareRoute)
