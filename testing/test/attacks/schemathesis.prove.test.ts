import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { adminOf } from '@tributary/api-docs/test/tenants'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../../engines/describe-with-engine.ts'
import { EngineUnavailable } from '../../engines/engine.ts'
import { announce, cacheDir, needed, once } from '../../engines/servers/install.ts'

const run = promisify(execFile)
const requirements = join(import.meta.dirname, 'schemathesis_requirements.txt')
const document = join(import.meta.dirname, '..', '..', '..', 'docs', 'openapi.json')

/** Downloads the pinned packages unless they exist, and returns their folder. */
async function installSchemathesis(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const dir = join(cacheDir(), `schemathesis-${hash}`)
  await needed('python3', 'schemathesis needs Python 3.10 or later with pip')
  await once(async () => {
    if (existsSync(dir)) return
    announce('Installing schemathesis from PyPI, once for this machine ...')
    const draft = await mkdtemp(`${dir}-`)
    try {
      const install = ['-m', 'pip', 'install', '-q', '--no-deps', '--target', draft, '-r', requirements]
      await run('python3', install, { timeout: 120_000 })
      await rename(draft, dir)
    } catch (cause) {
      await rm(draft, { recursive: true, force: true })
      throw new EngineUnavailable('schemathesis could not be installed from PyPI', { cause })
    }
  })
  return dir
}

const checks = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_schema_conformance'],
  ...['response_headers_conformance', 'unsupported_method', 'allow_header_conformance'],
]

interface Schemathesis {
  /** Sends valid and invalid requests to the operations of these tags, and returns the output of schemathesis. */
  drive(url: string, tags: string[], env: NodeJS.ProcessEnv): Promise<string>
  stop(): Promise<void>
}

async function openSchemathesis(): Promise<Schemathesis> {
  const packages = await installSchemathesis()
  const cwd = mkdtempSync(join(tmpdir(), 'tributary-schemathesis-'))
  return {
    async drive(url, tags, env) {
      const options = ['--checks', checks.join(','), '--phases', 'examples,coverage,fuzzing', '--max-examples', '5']
      // A fixed seed, so that every run sends the same requests.
      options.push('--seed', '5', '--generation-database', 'none', '--suppress-health-check', 'all')
      options.push(
        '--no-color',
        '--warnings',
        'off',
        '--request-timeout',
        '30',
        ...tags.flatMap((tag) => ['--include-tag', tag]),
      )
      const { stdout } = await run('python3', ['-m', 'schemathesis.cli', 'run', document, '--url', url, ...options], {
        cwd,
        env: {
          ...process.env,
          PYTHONPATH: `${packages}:${import.meta.dirname}`,
          SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
          ...env,
        },
        maxBuffer: 64 * 1024 * 1024,
      }).catch((error: { stdout: string; stderr: string }) => {
        throw new Error(`schemathesis found something:\n${error.stdout}\n${error.stderr}`)
      })
      return stdout
    },
    stop: () => rm(cwd, { recursive: true, force: true }),
  }
}

await describeWith('schemathesis', openSchemathesis, (schemathesis) => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-driven-'))
  let standalone: StandaloneProcess
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    standalone = await startStandaloneProcess({ data_dir })
    const ADMIN_TOKEN = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
    const admin = adminOf(standalone.url, ADMIN_TOKEN)
    const spare = await admin.createTenant()
    const { COMPANY_KEY, APP_KEY, SIGNING_SECRET, SERVER_KEY, IOS_SERVER_KEY, LINK_ID } = standalone.demo()
    env = {
      ...{ ADMIN_TOKEN, COMPANY_KEY, APP_KEY, SIGNING_SECRET, SERVER_KEYS: `${SERVER_KEY},${IOS_SERVER_KEY}` },
      ...{ COMPANY_ID: spare.company_id, APP_ID: spare.app_id, KEY_ID: spare.key_id, LINK_ID },
    }
  })
  afterAll(async () => {
    await standalone.stop('SIGTERM')
    await rm(data_dir, { recursive: true, force: true })
  })

  it('finds no answer that docs/openapi.json does not allow', async () => {
    const halves = [
      ['Events', 'Privacy', 'Postbacks'],
      ['Reports', 'Admin', 'Service'],
    ]
    const outputs = await Promise.all(halves.map((tags) => schemathesis.drive(standalone.url, tags, env)))
    for (const text of outputs) expect(text).toMatch(/\d+ generated, \d+ passed/)
    const metrics = await (await fetch(`${standalone.url}/metrics`)).text()
    // Its signatures are valid, so requests passed authentication.
    for (const route of ['/event', '/s2s/event', '/s2s/events/bulk', '/privacy/delete']) {
      const count = new RegExp(`^tributary_ingest_requests_total\\{route="${route}",code="ok"\\} (\\d+)`, 'm').exec(
        metrics,
      )
      expect({ route, ok: Number(count?.[1]) > 10 }).toEqual({ route, ok: true })
    }
  }, 300_000)
})
