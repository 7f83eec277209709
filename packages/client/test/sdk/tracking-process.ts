import { createSdkClient } from '../../src/sdk-client.ts'
import { fileStorage } from './file-storage.ts'

/** An app of its own: tracks without end, says each event_id once storage has it, until it is killed. */
const [url = '', folder = '', app_key = '', company_key = '', signing_secret = ''] = process.argv.slice(2)
const client = createSdkClient({
  url,
  app_key,
  company_key,
  signing_secret,
  storage: fileStorage(folder),
  flush_interval_ms: 10,
  backoff: { first_pause_ms: 5, pause_ms_max: 20 },
})
await client.trackInstall()
for (let n = 0; ; n += 1) {
  const event_id = await client.track({ event_name: 'tick', props: { n } })
  process.stdout.write(`${event_id}\n`)
}
