import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { EngineUnavailable } from '@tributary/testing/engines/engine'
import { announce, cacheDir, find, needed, once } from '@tributary/testing/engines/install'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { dashboards } from '../../grafana/dashboards.ts'
import { root } from './watch-files.ts'

const run = promisify(execFile)
const folder = join(root, 'infra', 'prometheus')

/** Debian's prometheus (19 MB), unpacked and not installed: no service is to start. */
async function installPromtool(): Promise<string> {
  const own = await find('promtool')
  if (own !== null) return own
  const unpacked = join(cacheDir(), 'prometheus')
  const program = join(unpacked, 'usr', 'bin', 'promtool')
  if (existsSync(program)) return program
  await needed('apt-get', 'promtool is neither on the PATH nor to be had from Debian')
  await once(async () => {
    if (existsSync(program)) return
    announce('Downloading prometheus from Debian, once for this machine ...')
    const draft = await mkdtemp(`${unpacked}-`)
    const download = () => run('apt-get', ['-q', 'download', 'prometheus'], { cwd: draft, timeout: 120_000 })
    try {
      await download().catch(() => run('apt-get', ['-q', 'update'], { timeout: 120_000 }).then(download))
      const [file = ''] = await readdir(draft)
      await run('dpkg', ['-x', join(draft, file), join(draft, 'root')])
      await rename(join(draft, 'root'), unpacked)
    } catch (cause) {
      throw new EngineUnavailable('prometheus could not be downloaded from Debian', { cause })
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  })
  return program
}

async function openPromtool() {
  const program = await installPromtool()
  const dir = await mkdtemp(join(tmpdir(), 'tributary-promtool-'))
  return {
    /** What promtool says; its exit code is 0 unless it rejects. */
    promtool: (...args: string[]) => run(program, args, { cwd: folder }).then(({ stdout }) => stdout),
    /** Rejects with what Prometheus does not understand of these queries. */
    async parse(queries: string[]) {
      const rules = queries.map((expr, at) => ({ record: `query_${at}`, expr }))
      await writeFile(join(dir, 'queries.yml'), stringify({ groups: [{ name: 'queries', rules }] }))
      await run(program, ['check', 'rules', join(dir, 'queries.yml')])
    },
    stop: () => rm(dir, { recursive: true, force: true }),
  }
}

await describeWith('promtool', openPromtool, ({ promtool, parse }) => {
  it('understands every rule', async () => {
    expect(await promtool('check', 'rules', 'alerts.yml')).toMatch(/SUCCESS: \d\d rules found/)
  })
  it('fires the alerts that infra/prometheus/alerts.test.yml expects, and no other', async () => {
    expect(await promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS')
  })
  it('understands the scrapes', async () => {
    await promtool('check', 'config', '--syntax-only', 'prometheus.yml')
  })
  it('understands the query of each panel', async () => {
    const queries = dashboards.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries.map(([expr]) => expr)))
    expect(queries.length).toBeGreaterThan(30)
    await parse(queries.map((expr) => expr.replaceAll('$__rate_interval', '5m')))
    await expect(parse(['sum by (a (b)'])).rejects.toThrow('parse error')
  })
})
