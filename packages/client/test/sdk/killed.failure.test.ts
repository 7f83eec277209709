import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { createSdkClient } from '../../src/sdk-client.ts'
import { EventShelf, eventsOf, startService } from '../hostile-service.ts'
import { fileStorage } from './file-storage.ts'

const keys = { app_key: 'app_live_1', company_key: 'co_live_1', signing_secret: 's' }

it('an app that is killed repeatedly loses no event whose track resolved, and none counts twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-client-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const shelf = new EventShelf()
  let n = 0
  const { url } = await startService((request) => {
    n += 1
    if (n % 5 === 1) return { status: 503 }
    const reply = shelf.take(eventsOf(request))
    return n % 5 === 2 ? { status: 0, cut: true } : reply
  })
  const tracked: string[] = []
  for (let life = 0; life < 6; life += 1) tracked.push(...(await live(url, folder, 20 + life * 40)))

  const last = createSdkClient({ ...keys, url, storage: fileStorage(folder), backoff: { first_pause_ms: 5 } })
  while ((await last.flush()).pending > 0);
  await last.close()
  const taken = new Set(shelf.ids())
  expect(tracked.filter((event_id) => !taken.has(event_id))).toEqual([])
  expect(taken.size).toBe(shelf.events.size)
  const events = [...shelf.events.values()]
  expect(new Set(events.map(({ install_uuid }) => install_uuid)).size).toBe(1)
  expect(events.filter(({ event_name }) => event_name === 'app_install')).toHaveLength(1)
  // Events whose id was never printed may be there too: at most one per life.
  expect(events.length - tracked.length).toBeLessThanOrEqual(1 + 6 + 6)
})

/** Runs the app until it printed `count` ids, kills it, and gives the printed ids. */
async function live(url: string, folder: string, count: number): Promise<string[]> {
  const main = join(import.meta.dirname, 'tracking-process.ts')
  const args = [main, url, folder, keys.app_key, keys.company_key, keys.signing_secret]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const printed: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    printed.push(line)
    if (printed.length === count) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return printed
}
