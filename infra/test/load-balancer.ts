import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EngineUnavailable } from '@tributary/testing/engines/engine'
import { announce, cacheDir, needed, once } from '@tributary/testing/engines/install'
import { freePorts } from '@tributary/testing/engines/ports'

const run = promisify(execFile)
/** HAProxy and the libraries that Debian's build of it asks for; unpacked, not installed: no service is to start. */
const packages = ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1']
const configFile = join(import.meta.dirname, '..', 'haproxy', 'haproxy.cfg')
const unpacked = () => join(cacheDir(), 'haproxy')

/** A real HAProxy: that of the machine, else Debian's. Rejects with EngineUnavailable. */
export async function installHaproxy(): Promise<void> {
  if ((await onPath()) || existsSync(unpacked())) return
  await needed('apt-get', 'haproxy is neither on the PATH nor to be had from Debian')
  await once(async () => {
    if (existsSync(unpacked())) return
    announce('Downloading haproxy from Debian, once for this machine ...')
    const draft = await mkdtemp(`${unpacked()}-`)
    const download = () => run('apt-get', ['-q', 'download', ...packages], { cwd: draft, timeout: 120_000 })
    try {
      await download().catch(() => run('apt-get', ['-q', 'update'], { timeout: 120_000 }).then(download))
      await mkdir(join(draft, 'root'))
      for (const file of readdirSync(draft).filter((name) => name.endsWith('.deb')))
        await run('dpkg', ['-x', join(draft, file), join(draft, 'root')])
      await rename(join(draft, 'root'), unpacked())
    } catch (cause) {
      throw new EngineUnavailable('haproxy could not be downloaded from Debian', { cause })
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  })
}

const onPath = () =>
  run('haproxy', ['-v']).then(
    () => true,
    () => false,
  )

/** What to run and with which environment, arguments to follow. */
async function haproxyCommand(): Promise<{ program: string; env: Record<string, string> }> {
  if (await onPath()) return { program: 'haproxy', env: {} }
  const lib = join(unpacked(), 'usr', 'lib')
  const folders = readdirSync(lib).map((name) => join(lib, name))
  return { program: join(unpacked(), 'usr', 'sbin', 'haproxy'), env: { LD_LIBRARY_PATH: folders.join(':') } }
}

/** Rejects with what HAProxy says against a file, else against that of the fleet as it is. */
export async function checkConfig(file = configFile): Promise<void> {
  const { program, env } = await haproxyCommand()
  await run(program, ['-c', '-f', file], { env: { ...process.env, ...env } })
}

/**
 * Writes the very file with other addresses: the ports that it listens on, and for each `host:8080`, whose replicas
 * Docker's name server would tell, the addresses given.
 */
async function writeConfig(
  dir: string,
  ports: { fleet: number; operators: number; inside: number },
  replicas: Record<string, readonly string[]>,
): Promise<string> {
  const text = readFileSync(configFile, 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${ports.fleet}`)
    .replace('bind :8081', `bind 127.0.0.1:${ports.operators}`)
    .replace('bind :8404', `bind 127.0.0.1:${ports.inside}`)
    .replaceAll(/^( *)server-template (\w+) \d+ ([\w-]+):8080$/gm, (_all, indent, name, host) =>
      (replicas[host] ?? []).map((address, index) => `${indent}server ${name}${index + 1} ${address}`).join('\n'),
    )
  const file = join(dir, 'haproxy.cfg')
  await writeFile(file, text)
  return file
}

/** A real HAProxy with the file of the fleet, in front of these replicas. */
export async function spawnLoadBalancer(dir: string, replicas: Record<string, readonly string[]>) {
  const [fleet = 0, operators = 0, inside = 0] = await freePorts(3)
  const file = await writeConfig(dir, { fleet, operators, inside }, replicas)
  const { program, env } = await haproxyCommand()
  const child = spawn(program, ['-db', '-f', file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const at = (port: number) => `http://127.0.0.1:${port}`
  return { child, url: at(fleet), operators_url: at(operators), inside_url: at(inside) }
}
