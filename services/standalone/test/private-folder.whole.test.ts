import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

/** What other users may do below a folder, the folder itself included. */
function openToOthers(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).map((one) =>
    join(one.parentPath, one.name),
  )
  return [folder, ...paths].flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false }) // the engines go on
    if (found === undefined || found.isSymbolicLink() || (found.mode & 0o077) === 0) return []
    return [`${relative(folder, path)} ${(found.mode & 0o777).toString(8)}`]
  })
}

it('a start on a folder of mode 755 closes it, and nothing in it or in a backup of it is open to other users', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'tributary-private-'))
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }))
  const [data_dir, backup] = [join(scratch, 'data'), join(scratch, 'backup')]
  mkdirSync(join(data_dir, 'audit'), { recursive: true })
  writeFileSync(join(data_dir, 'lock.sqlite'), '')
  for (const path of [scratch, data_dir, join(data_dir, 'audit')]) chmodSync(path, 0o755)
  chmodSync(join(data_dir, 'lock.sqlite'), 0o644)

  const standalone = await startStandaloneProcess({ data_dir, from_nothing: true })
  const { COMPANY_KEY, SERVER_KEY } = standalone.demo()
  expect(COMPANY_KEY).toBeDefined()
  const event = { event_id: '1', event_name: 'a', event_ts_ms: Date.now(), install_uuid: 'i' }
  const sent = await fetch(`${standalone.url}/s2s/event`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SERVER_KEY}` },
    body: JSON.stringify(event),
  })
  expect(sent.status).toBe(200)
  const env = { PATH: process.env.PATH, TRIBUTARY_DATA_DIR: data_dir, TRIBUTARY_URL: standalone.url }
  execFileSync(process.execPath, ['packages/cli/src/main.ts', 'backup', backup], { cwd: root, env })

  // As root, PostgreSQL runs as another user: it may enter the folder, and neither list nor read it.
  const entered = process.getuid?.() === 0 ? [' 711'] : []
  expect(openToOthers(data_dir)).toEqual(entered)
  expect(openToOthers(backup)).toEqual(entered)
  expect(standalone.output()).toContain('its mode was tightened')
  expect(await standalone.stop('SIGTERM')).toBe(0)
})
