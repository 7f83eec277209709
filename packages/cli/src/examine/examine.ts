import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type AttentionCode, attentionRoutes } from '@tributary/contracts/admin/attention'
import type { HealthReply } from '@tributary/contracts/health'
import { diskLevel, readDiskSpace } from '@tributary/service-kit/service/disk-watch'
import { adminWithin } from '../admin.ts'
import { type CliConfig, findAdminToken, otherAddress, readConfig } from '../config.ts'
import { CliError } from '../errors.ts'
import { findInstance, otherInstance } from '../find-instance.ts'
import { type Answer, adminFenceHint, request } from '../http.ts'
import { readSecretFile } from '../secrets/secret-file.ts'
import { type Check, check_ms_max, failed, passed } from './check.ts'
import { examineMasterKey } from './examine-master-key.ts'

/** The Date header has whole seconds. Wrong clocks distort the corrections by `sent_at_ms`. */
const clock_skew_ms_max = 5000

/**
 * Checks this machine, the servers of the settings and the services. A failed check is a result, not an error. The data
 * folder is checked only when an engine is embedded. `services`: addresses in addition to TRIBUTARY_URL.
 */
export async function examine(services: readonly string[]): Promise<Check[]> {
  const config = readConfig()
  const { data_dir, disk_free_bytes_min, servers, url } = config
  const folder = resolve(data_dir)
  const embedded = Object.values(servers).includes(false)
  const [onFolder, masterKey, onServers, onAdmin, onService, ...onOthers] = await Promise.all([
    embedded ? [await folderCheck(folder), await diskCheck(folder, disk_free_bytes_min)] : [],
    examineMasterKey(folder, config),
    examineServers(servers),
    examineAdmin(config),
    examineService('service', url, otherAddress(config) || startIt(url)),
    ...services.map((address) => examineService(`service ${address}`, address, startIt(address))),
  ])
  const onServices = [...onAdmin, ...onService, ...onOthers.flat()]
  return [nodeCheck(), await tokenCheck(folder), masterKey, ...onFolder, ...onServers, ...onServices]
}

async function examineServers(servers: Record<string, boolean>): Promise<Check[]> {
  if (!Object.values(servers).includes(true)) return []
  // Imported here, because the clients of all engines take most of a second to load.
  const { examineEngines } = await import('./examine-engines.ts')
  return examineEngines()
}

/** Gives no check when nobody answers or no token exists: the checks of service and token report that. */
async function examineAdmin(config: CliConfig): Promise<Check[]> {
  const { url } = config
  const instance = await findInstance(config).catch((error: unknown) => {
    if (error instanceof CliError) return 'away' as const
    throw error
  })
  if (instance === 'away') return []
  if (instance === 'wrong_token')
    return [
      failed(
        'admin API',
        `${url} refuses the admin token`,
        otherAddress(config) || 'Does the token belong to that service? See TRIBUTARY_ADMIN_TOKEN.',
      ),
    ]
  if (instance === 'not_found') return [failed('admin API', `${url} answers 404 to this machine`, adminFenceHint)]
  if (instance === 'same' || instance === 'unknown')
    return [passed('admin API', 'answers'), ...(await examineAttention())]
  const { found, fix } = otherInstance(config)
  return [failed('admin API', found, fix)]
}

/** `/health` shows none of these: a process that is well may write tables that lack events. */
const beyondHealth: readonly AttentionCode[] = ['stores_differ', 'dead_letters', 'consumer_lags']

const tryAgain = 'Try again. The log of admin-api has the reason.'

async function examineAttention(): Promise<Check[]> {
  try {
    const { items, unchecked } = await adminWithin({ timeout_ms: check_ms_max }, attentionRoutes.listAttention)
    const checks = beyondHealth.flatMap((code) => [
      ...items.filter((item) => item.code === code).map(({ message, fix }) => failed(code, message, fix)),
      ...(unchecked.includes(code) ? [failed(code, 'could not be looked at', tryAgain)] : []),
    ])
    return checks.length > 0
      ? checks
      : [passed('attention', 'no known difference of stores, no dead letters, no consumer far behind')]
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    // A service of before this route; a fence that hides it hides the status too.
    if (error.code === 'not_found') return []
    // A newer service may name codes that this command does not know.
    const fix = error.code === 'unexpected_answer' ? 'Run the command of the version of the service.' : tryAgain
    return [failed('attention', error.message, fix)]
  }
}

async function examineService(name: string, url: string, fix: string): Promise<Check[]> {
  try {
    const health = await request(`${url}/health`, { timeout_ms: check_ms_max })
    return [...serviceChecks(name, url, health, fix), clockCheck(health)]
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return [failed(name, error.message, fix)]
  }
}

const startIt = (url: string) => `Start the service with npm start, or set TRIBUTARY_URL if it is not at ${url}.`

function nodeCheck(): Check {
  const major = Number(process.versions.node.split('.')[0])
  if (major >= 24) return passed('node', process.version)
  return failed('node', process.version, 'Node 24 is needed. Run npm start once: it fetches Node from npm.')
}

async function folderCheck(folder: string): Promise<Check> {
  const found = await stat(folder).catch(() => null)
  if (found === null) return passed('data folder', `${folder} does not exist yet; the first npm start makes it`)
  if (!found.isDirectory())
    return failed('data folder', `${folder} is not a folder`, 'Set TRIBUTARY_DATA_DIR to a folder.')
  const usable = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (usable) return passed('data folder', folder)
  return failed('data folder', `${folder} can't be read and written`, `Take ownership: chown -R $(id -u) ${folder}`)
}

async function tokenCheck(folder: string): Promise<Check> {
  const read = await readSecretFile('admin token', join(folder, 'admin-token'))
  if (read !== null && 'check' in read) return read.check
  return findAdminToken(readConfig()).then(
    () => passed('admin token', 'found'),
    (error: Error) => failed('admin token', error.message, 'Start the service once, or set TRIBUTARY_ADMIN_TOKEN.'),
  )
}

async function diskCheck(folder: string, free_bytes_min: number): Promise<Check> {
  const there = (await stat(folder).catch(() => null)) === null ? dirname(folder) : folder
  const space = await readDiskSpace(there).catch(() => null)
  if (space === null) return failed('disk', `${there} can't be read`, 'Set TRIBUTARY_DATA_DIR to an existing folder.')
  const level = diskLevel(space, free_bytes_min, 'ok')
  const found = `${gib(space.free_bytes)} of ${gib(space.size_bytes)} GiB free at ${there}`
  if (level === 'ok') return passed('disk', found)
  const fix = `Keep ${gib(free_bytes_min)} GiB and a tenth of the disk free, or move TRIBUTARY_DATA_DIR to a larger disk.`
  return failed('disk', level === 'full' ? `${found}: new events are refused` : found, fix)
}

const gib = (bytes: number) => (bytes / 1024 ** 3).toFixed(1)

function serviceChecks(name: string, url: string, { status, body }: Answer, fix: string): Check[] {
  const { bindings, troubles = [] } = (body ?? {}) as Partial<HealthReply>
  if (status !== 200 || typeof bindings !== 'object' || bindings === null) {
    return [failed(name, `${url}/health answers ${status}, unlike Tributary`, fix)]
  }
  const checks = Object.entries(bindings).map(([binding, state]) => {
    if (state?.status === 'ok') return passed(`${name}: ${binding}`, 'ok')
    return failed(
      `${name}: ${binding}`,
      'down',
      'See the log of the service for the reason. The service continues once it is back.',
    )
  })
  const found = troubles.map(({ code, message, fix }) =>
    failed(`${name}: ${code}`, message ?? 'Details are shown only on the machine of the service.', fix ?? troubleFix),
  )
  return [passed(name, url), ...checks, ...found]
}

const troubleFix = 'See "When something is wrong" in docs/operations.md.'

function clockCheck({ headers }: Answer): Check {
  const theirs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(theirs)) return passed('clock', 'the service sends no Date header')
  const skew_ms = Math.abs(Date.now() - theirs)
  if (skew_ms <= clock_skew_ms_max) return passed('clock', 'within 5 seconds of the service')
  const found = `${Math.round(skew_ms / 1000)} seconds off the clock of the service`
  return failed('clock', found, 'Synchronise both clocks with NTP: events from the future are refused.')
}
