import { existsSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { client, compare, type LoadTarget } from '@tributary/testing/standalone/kill-run'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { isExact } from '@tributary/testing/verify-events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

let data_dir: string
beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'tributary-broken-part-'))
})
afterEach(() => rmSync(data_dir, { recursive: true, force: true }))

/** Empties every file but the rows of one part, and takes away what it was merged from. */
async function breakPart(table: string): Promise<void> {
  const clickhouse = await openEmbeddedClickhouse({ data_dir: join(data_dir, 'clickhouse') })
  await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`)
  const parts = await clickhouse.query<{ path: string; active: number }>(
    `SELECT path, active FROM system.parts WHERE table = '${table}' AND database = 'tributary'`,
  )
  await clickhouse.close()
  for (const { path, active } of parts) {
    if (active === 0) rmSync(path, { recursive: true, force: true })
    else for (const file of readdirSync(path)) if (file !== 'data.bin') truncateSync(join(path, file), 0)
  }
}

it('a table that lost a part is filled again at the start, loudly, and what is sent again counts once', async () => {
  const acknowledged = new Set<string>()
  const unanswered = new Set<string>()
  const first = await startStandaloneProcess({ data_dir })
  const demo = first.demo()
  const target: LoadTarget = { standalone: first, ended: false }
  const load = Array.from({ length: 4 }, () => client(target, demo, true, acknowledged, unanswered))
  await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(50), { timeout: 180_000 })
  target.standalone = null
  await waitUntilWritten(first.url, data_dir)
  expect(await first.stop('SIGTERM')).toBe(0)
  await breakPart('event_keys_v1')
  await breakPart('activity_by_day_v1')

  const second = await startStandaloneProcess({ data_dir, env: { TRIBUTARY_LOG_LEVEL: 'info' } })
  target.standalone = second
  const before = acknowledged.size
  await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before + 50), { timeout: 180_000 })
  target.ended = true
  await Promise.all(load)
  await waitUntilWritten(second.url, data_dir)
  const metrics = await (await fetch(`${second.url}/metrics`)).text()
  expect(metrics).toMatch(/^tributary_broken_parts_total\{table="event_keys_v1"\} 1$/m)
  expect(metrics).toMatch(/^tributary_broken_parts_total\{table="activity_by_day_v1"\} 1$/m)
  expect(second.output()).toContain('part of a table is broken')
  expect(second.output()).toContain('table is filled again')
  expect(await second.stop('SIGTERM')).toBe(0)
  expect(existsSync(join(data_dir, 'read-log-again'))).toBe(false)
  expect(await compare(data_dir, acknowledged, unanswered)).toSatisfy(isExact)
})
