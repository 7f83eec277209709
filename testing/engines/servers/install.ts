import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { EngineUnavailable } from '../engine.ts'

const run = promisify(execFile)
const install_ms_max = 300_000

/** The folder of installed engines, shared by all checkouts of this machine. */
export const cacheDir = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tributary-engines')

/** The folder for the jars of a pom, named by its hash: another version has another folder. An existing folder is complete. */
export const jarsDir = (name: string, pom: string): string =>
  join(cacheDir(), `${name}-${createHash('sha256').update(pom).digest('hex').slice(0, 12)}`)

/** Downloads the runtime jars of `pom` from Maven Central unless they exist. Needs Java 17 and Maven. */
export async function installJars(name: string, pom: string): Promise<void> {
  const target = jarsDir(name, pom)
  await needed('java', `${name} needs Java 17 (Debian: openjdk-17-jre-headless)`)
  if (existsSync(target)) return
  await needed('mvn', `${name} needs Maven to be downloaded (Debian: maven)`)
  await once(async () => {
    if (existsSync(target)) return
    announce(`Downloading ${name} from Maven Central, once for this machine ...`)
    const draft = `${target}.draft`
    await rm(draft, { recursive: true, force: true }) // left by a killed installer
    await mkdir(draft, { recursive: true })
    await writeFile(join(draft, 'pom.xml'), pom)
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${draft}`]
    try {
      await run('mvn', ['-q', '-B', '-f', join(draft, 'pom.xml'), ...goal], { timeout: install_ms_max })
      await rename(draft, target)
    } catch (cause) {
      await rm(draft, { recursive: true, force: true })
      throw new EngineUnavailable(`${name} could not be downloaded from Maven Central`, { cause })
    }
  })
}

/** Links a `redis-server`: the machine's own, else Debian's without its system service. */
export async function installRedis(): Promise<void> {
  if (existsSync(redisServer())) return
  const found = await find('redis-server')
  await once(async () => {
    if (existsSync(redisServer())) return
    await mkdir(cacheDir(), { recursive: true })
    // Debian's redis-tools contains the server program, which acts as the server under this name. The package
    // redis-server adds only the name and a service on the default port.
    await symlink(found ?? (await redisOfDebian()), redisServer())
  })
}

export const redisServer = (): string => join(cacheDir(), 'redis-server')

async function redisOfDebian(): Promise<string> {
  const program = '/usr/bin/redis-check-rdb'
  if (existsSync(program)) return program
  await installOfDebian('redis-tools', 'redis-server')
  if (!existsSync(program)) throw new EngineUnavailable(`redis-tools holds no ${program}`)
  return program
}

/** Installs a package of Debian for a program that is not on the PATH. */
export async function installOfDebian(name: string, program: string): Promise<void> {
  const reason = `${program} has to be on the PATH (it is installed by itself on Debian as root only)`
  if (process.getuid?.() !== 0) throw new EngineUnavailable(reason)
  await needed('apt-get', reason)
  announce(`Installing ${name} from Debian, once for this machine ...`)
  const apt = (...args: string[]) =>
    run('apt-get', ['-q', '-y', ...args], {
      timeout: install_ms_max,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  const install = () => apt('install', '--no-install-recommends', name)
  try {
    // Fetches package lists only when they are absent or outdated.
    await install().catch(() => apt('update').then(install))
  } catch (cause) {
    throw new EngineUnavailable(`${name} could not be installed with apt-get`, { cause })
  }
}

/** Path of a command; null when it does not exist. */
export const find = (command: string): Promise<string | null> =>
  run('sh', ['-c', `command -v ${command}`]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )

export async function needed(command: string, reason: string): Promise<void> {
  if ((await find(command)) === null) throw new EngineUnavailable(reason)
}

export const announce = (text: string): void => void process.stderr.write(`${text}\n`)

/** Runs one installer at a time on this machine. Takes over the lock of a dead owner. */
export async function once(work: () => Promise<void>): Promise<void> {
  const lock = join(cacheDir(), 'installing')
  await mkdir(cacheDir(), { recursive: true })
  for (const deadline = Date.now() + install_ms_max; ; await pause(200)) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' })
      break
    } catch {
      if (!(await ownerLives(lock))) await rm(lock, { force: true })
      else if (Date.now() > deadline)
        throw new EngineUnavailable(`another process has been installing for long: ${lock}`)
    }
  }
  try {
    await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function ownerLives(lock: string): Promise<boolean> {
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''))
  if (pid === 0) return true // it is being written, or was just removed: the next try decides
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
