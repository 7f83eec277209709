import { type ChildProcess, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createAppleTwin } from '../postback/apple-twin.ts'
import { serviceFlags } from '../standalone/service-flags.ts'
import { startStandaloneProcess, waitUntilNoLag } from '../standalone/standalone-process.ts'
import { drawAddresses } from './addresses.ts'
import { openDoors } from './doors.ts'
import { type DemoWorld, payFor, play, step_ms, tap } from './history.ts'
import { createRandom } from './random.ts'
import { ios_store_id, setUp } from './set-up.ts'

const help = `npm run demo -- [--days 60] [--seed 1]

Starts Tributary on a folder of its own (./.tributary-demo) with an invented history: partners, campaigns, countries, purchases,
fraud, postbacks of Apple, costs. The history comes through the doors that apps and backends use, while the clock of the service
is moved from that many days ago to now. A second run starts on the folder that is there. To remove the demo, delete the folder.`

const root = join(import.meta.dirname, '..', '..')
const folder = resolve('.tributary-demo')
const marker = join(folder, 'demo.json')
const day_ms = 86_400_000
/** How long the service may take to read a new clock. */
const clock_read_ms = 25
/** The key of its postbacks. */
const demo_kid = 'tributary-demo/1'

process.umask(0o077)
const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  },
})
const [days, seed] = [Number(values.days), Number(values.seed)]

if (values.help) console.info(help)
else if (!Number.isInteger(days) || days < 1 || days > 730 || !Number.isInteger(seed)) {
  console.error(`--days is 1 to 730, and --seed a whole number.\n\n${help}`)
  process.exitCode = 2
} else if (!existsSync(folder)) {
  await fill()
  await serve()
} else if (existsSync(marker)) await serve()
else {
  console.error(`${folder} holds a demo that was not finished. Delete the folder, and run this again.`)
  process.exitCode = 1
}

/** Makes the history. */
async function fill(): Promise<void> {
  const started = performance.now()
  mkdirSync(folder, { mode: 0o700 })
  const clock_file = join(folder, 'clock')
  const today_ms = Math.floor(Date.now() / step_ms) * step_ms
  const first_ms = today_ms - days * day_ms
  const setClock = (at_ms: number) => {
    writeFileSync(`${clock_file}.new`, String(at_ms - Date.now()))
    renameSync(`${clock_file}.new`, clock_file)
  }
  const clock = () => Date.now() + Number(readFileSync(clock_file, 'utf8'))
  setClock(first_ms)
  const random = createRandom(seed)
  const twin = createAppleTwin()
  const keys = await serveKey(createPublicKey(twin.secrets.p256).export({ format: 'jwk' }))
  const service = await startStandaloneProcess({
    ...{ data_dir: folder, cwd: folder, from_nothing: true },
    env: {
      NODE_OPTIONS: `--import ${new URL('../standalone/moved-clock.mjs', import.meta.url).href}`,
      TEST_CLOCK_FILE: clock_file,
      TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1',
      TRIBUTARY_AAK_JWKS_URL: keys.url,
    },
  })
  try {
    const token = readFileSync(join(folder, 'admin-token'), 'utf8').trim()
    const world: DemoWorld = {
      ...{ random, days, ios_store_id, players: [], doors: openDoors(service.url, clock) },
      ...(await setUp(service.url, token, service.demo(), first_ms)),
      addresses: await drawAddresses(random),
      signAak: (payload) => twin.signAak(payload, { kid: demo_kid, alg: 'ES256' }),
    }
    for (let since_ms = first_ms; since_ms < today_ms; since_ms += step_ms) {
      const progress = (since_ms - first_ms) / (days * day_ms)
      const until_ms = since_ms + step_ms
      const tapped = await tap(world, since_ms, progress)
      setClock(until_ms - 1000)
      await sleep(clock_read_ms)
      await play(world, tapped, since_ms, until_ms - 1000, progress)
      setClock(until_ms)
      await sleep(clock_read_ms)
      if (until_ms % day_ms === 0) {
        await payFor(world, until_ms - day_ms, progress)
        show(`${new Date(until_ms).toISOString().slice(0, 10)}  ${world.players.length} installs`)
      }
    }
    show('writing what is left')
    setClock(Date.now())
    await waitUntilNoLag(service.url, token, 300_000)
  } finally {
    await service.stop('SIGTERM')
    keys.close()
  }
  writeFileSync(marker, JSON.stringify({ days, seed, first_ms }))
  show(`a history of ${days} days in ${Math.round((performance.now() - started) / 1000)} s\n`)
}

/** The key of postbacks, where the service reads it. */
async function serveKey(jwk: object): Promise<{ url: string; close(): void }> {
  const body = JSON.stringify({ keys: [{ ...jwk, kid: demo_kid, alg: 'ES256', use: 'sig' }] })
  const server = createServer(
    (_request, response) => void response.setHeader('content-type', 'application/json').end(body),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, close: () => void server.close() }
}

function show(text: string): void {
  const line = `demo: ${text}`
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else process.stderr.write(`${line}\n`)
}

/** Runs the service on the folder, as `npm start` does, until a signal ends it. */
async function serve(): Promise<void> {
  const child: ChildProcess = spawn(
    'node',
    [...serviceFlags, join(root, 'tools/bootstrap.mjs'), 'services/standalone/src/main.ts'],
    { cwd: root, env: { ...process.env, TRIBUTARY_DATA_DIR: folder }, stdio: 'inherit' },
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void child.kill(signal))
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
}
