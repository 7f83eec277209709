import { createHmac, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { topics } from '@tributary/contracts/topics'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { onTestFinished } from 'vitest'

const hook = pathToFileURL(join(import.meta.dirname, '..', '..', 'traces', 'name-loaded-modules.mjs')).href

/** Secrets and a person's data that a request of the stage holds. */
export interface Sent {
  install_uuid: string
  event_id: string
  never: string[]
}

/** A standalone process with settings of traces, what it loads of OpenTelemetry, and an app that sends to it. */
export async function startTraced(settings: Record<string, string>) {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-traces-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const loaded = join(data_dir, 'loaded-modules')
  const env = { ...settings, NODE_OPTIONS: `--import ${hook}`, LOADED_MODULES: loaded, TRIBUTARY_LOG_LEVEL: 'warn' }
  const standalone = await startStandaloneProcess({ data_dir, env })
  let running = true
  const stop = async () => {
    if (!running) return 0
    running = false
    return standalone.stop('SIGTERM')
  }
  onTestFinished(async () => void (await stop()))
  writeFileSync(loaded, '', { flag: 'a' })
  const demo = standalone.demo()
  return {
    ...{ url: standalone.url, output: standalone.output, data_dir, stop },
    loadedModules: () => readFileSync(loaded, 'utf8').split('\n').filter(Boolean),
    async send(headers: Record<string, string> = {}): Promise<Sent & { status: number }> {
      const [install_uuid, event_id, secret] = [randomUUID(), randomUUID(), `secret-${randomUUID()}`]
      const event = { event_id, event_name: 'app_install', event_ts_ms: Date.now(), install_uuid, props: { secret } }
      const body = JSON.stringify({ events: [event], sent_at_ms: Date.now() })
      const signature = createHmac('sha256', demo.SIGNING_SECRET!).update(body).digest('hex')
      const { status } = await fetch(`${standalone.url}/event?given=${secret}`, {
        method: 'POST',
        body,
        headers: {
          'x-service-company-key': demo.COMPANY_KEY!,
          'x-service-app-key': demo.APP_KEY!,
          'x-service-signature': signature,
          ...headers,
        },
      })
      const keys = [demo.SIGNING_SECRET!, demo.COMPANY_KEY!, demo.APP_KEY!, demo.SERVER_KEY!, signature]
      return { status, install_uuid, event_id, never: [...keys, install_uuid, event_id, secret, '127.0.0.1'] }
    },
    async report(): Promise<number> {
      const authorization = `Bearer ${demo.SERVER_KEY}`
      return (await fetch(`${standalone.url}/api/v1/reports/events`, { headers: { authorization } })).status
    },
    untilWritten: () => waitUntilWritten(standalone.url, data_dir),
  }
}

/** Headers of the first record of accepted events in a data folder that nothing uses. */
export async function headersOfRecord(data_dir: string): Promise<string[]> {
  const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now: Date.now })
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const consumption = await broker.consume({
    ...{ group: 'look', topic: topics.eventsAccepted.name, bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 10 },
    onChunk: async ({ records }) => resolve(Object.keys(records[0]!.headers)),
  })
  const headers = await promise
  await consumption.close()
  await broker.close()
  return headers
}
