import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { client, compare, type LoadTarget } from '@tributary/testing/standalone/kill-run'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { isExact } from '@tributary/testing/verify-events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

let scratch: string
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'tributary-backup-'))
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

const command = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'tributary.mjs')

async function backUp(data_dir: string, folder: string) {
  const env = { ...process.env, TRIBUTARY_DATA_DIR: data_dir }
  const child = spawn('node', [command, 'backup', folder, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

/** A backup that dies as soon as it has begun. */
async function killOne(data_dir: string, folder: string): Promise<void> {
  const env = { ...process.env, TRIBUTARY_DATA_DIR: data_dir }
  const child = spawn(process.execPath, [command, 'backup', folder], { env, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.on('close', resolve))
  await vi.waitFor(() => expect(existsSync(`${folder}.partial`)).toBe(true), { timeout: 180_000, interval: 1 })
  child.kill('SIGKILL')
  await ended
  expect(existsSync(folder)).toBe(false)
}

/** Four clients that send at the same time; what was acknowledged and what was not, by batch. */
function startLoad(target: LoadTarget, demo: Record<string, string>) {
  const [acknowledged, unanswered] = [new Set<string>(), new Set<string>()]
  const clients = Array.from({ length: 4 }, () => client(target, demo, true, acknowledged, unanswered))
  const reaches = (size: number) =>
    vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(size), { timeout: 180_000 })
  const end = async () => {
    target.ended = true
    await Promise.all(clients)
  }
  return { acknowledged, unanswered, reaches, end }
}

it('a backup of a standalone that takes events restores all that was acknowledged before it, once', async () => {
  const [data_dir, folder] = [join(scratch, 'data'), join(scratch, 'backup')]
  const standalone = await startStandaloneProcess({ data_dir })
  const load = startLoad({ standalone, ended: false }, standalone.demo())
  await load.reaches(50)
  await killOne(data_dir, join(scratch, 'killed'))
  const before = new Set(load.acknowledged)
  writeFileSync(join(data_dir, 'replay-needed.json'), '{}\n')
  const { code, stdout, stderr } = await backUp(data_dir, folder)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ folder, files: expect.any(Number), bytes: expect.any(Number) })
  expect(existsSync(join(folder, 'replay-needed.json'))).toBe(true)
  await load.reaches(load.acknowledged.size)
  await load.end()
  await waitUntilWritten(standalone.url, data_dir)
  expect(await standalone.stop('SIGTERM')).toBe(0)
  expect(readdirSync(data_dir)).not.toContain('.backup-links')
  const original = await compare(data_dir, load.acknowledged, load.unanswered)
  expect(original, JSON.stringify(original)).toSatisfy(isExact)

  const restored = await startStandaloneProcess({ data_dir: folder })
  // The keys, the secrets and the log of the copy work: it takes what comes next.
  const next = startLoad({ standalone: restored, ended: false }, restored.demo())
  await next.reaches(20)
  await next.end()
  await waitUntilWritten(restored.url, folder)
  expect(await restored.stop('SIGTERM')).toBe(0)
  for (const note of ['fill-tables-again', 'read-log-again']) expect(existsSync(join(folder, note))).toBe(false)
  const later = [...load.acknowledged, ...load.unanswered].filter((batch) => !before.has(batch))
  const all = new Set([...before, ...next.acknowledged])
  const verdict = await compare(folder, all, new Set([...later, ...next.unanswered]))
  expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
  expect(verdict.in_events_raw).toBeGreaterThanOrEqual(all.size * 20)
})

it('a backup is refused where it could not be whole, and says what to do', async () => {
  const data_dir = join(scratch, 'data')
  const folder = join(scratch, 'backup')
  expect((await backUp(data_dir, folder)).stderr).toContain('no_data_folder')
  mkdirSync(data_dir)
  expect((await backUp(data_dir, folder)).stderr).toContain(`cp -a ${data_dir} ${folder}`)
  expect((await backUp(data_dir, join(data_dir, 'backup'))).stderr).toContain('folder_inside')
  mkdirSync(folder)
  expect(await backUp(data_dir, folder)).toMatchObject({ code: 1, stderr: expect.stringContaining('folder_exists') })
  expect(readdirSync(scratch).sort()).toEqual(['backup', 'data'])
})
