import { createSdkClient } from '../../src/sdk-client.ts'
import { fileStorage } from './file-storage.ts'

/** An app in a process of its own: tracks until it is killed, and prints each event_id once storage has it. */
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
  // Printed is what the kernel took: a killed process loses what still waits in its memory.
  await new Promise((resolve) => process.stdout.write(`${event_id}\n`, resolve))
}
