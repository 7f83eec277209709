import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStart } from '@tributary/service-kit/data-dir/start-file'
import { readSettings, type Settings } from '@tributary/service-kit/settings/read-settings'
import { type SettingName, settings } from '@tributary/service-kit/settings/settings'
import { CliError } from './errors.ts'

export interface CliConfig {
  /** Address of the service, without a trailing slash. */
  url: string
  /** Where the last start on the data folder answers, when TRIBUTARY_URL names another address. */
  start_url: string | null
  data_dir: string
  admin_token: string | undefined
  disk_free_bytes_min: number
  /** True for each engine that is a server; the others are embedded in the data folder. */
  servers: Record<'log' | 'clickhouse' | 'postgres' | 'counters' | 'audit', boolean>
}

/**
 * Reads the settings of the commands from the environment, else from the last start in this directory, else the
 * defaults. Throws `StartRefused`.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): CliConfig {
  const read = readSettings(env, [
    'TRIBUTARY_URL',
    'TRIBUTARY_DATA_DIR',
    'TRIBUTARY_ADMIN_TOKEN',
    'TRIBUTARY_DISK_FREE_MIN_BYTES',
    'TRIBUTARY_KAFKA_BROKERS',
    'TRIBUTARY_CLICKHOUSE_URL',
    'TRIBUTARY_POSTGRES_URL',
    'TRIBUTARY_REDIS_URL',
    'TRIBUTARY_S3_BUCKET',
  ])
  const start = readStart(read.TRIBUTARY_DATA_DIR)
  const without = (address: string) => address.replace(/\/+$/, '')
  const start_url = without(start?.url ?? read.TRIBUTARY_URL)
  const url = env.TRIBUTARY_URL ? without(read.TRIBUTARY_URL) : start_url
  return {
    url,
    start_url: start === null || start_url === url ? null : start_url,
    data_dir: env.TRIBUTARY_DATA_DIR ? read.TRIBUTARY_DATA_DIR : (start?.data_dir ?? read.TRIBUTARY_DATA_DIR),
    admin_token: read.TRIBUTARY_ADMIN_TOKEN,
    disk_free_bytes_min: read.TRIBUTARY_DISK_FREE_MIN_BYTES,
    servers: {
      log: read.TRIBUTARY_KAFKA_BROKERS !== undefined,
      clickhouse: read.TRIBUTARY_CLICKHOUSE_URL !== undefined,
      postgres: read.TRIBUTARY_POSTGRES_URL !== undefined,
      counters: read.TRIBUTARY_REDIS_URL !== undefined,
      audit: read.TRIBUTARY_S3_BUCKET !== undefined,
    },
  }
}

/** Names the address of the running start, when TRIBUTARY_URL differs from it; else empty. */
export const otherAddress = ({ url, start_url, data_dir }: CliConfig): string =>
  start_url === null
    ? ''
    : `TRIBUTARY_URL of the environment is ${url}, but the last start on ${data_dir} answers at ${start_url}: unset it, or set it to that.`

/** Reads the settings of engines that a command opens itself. Throws `StartRefused`. */
export const readEngineSettings = <Name extends SettingName, Required extends SettingName>(
  names: readonly Name[],
  required: readonly Required[],
): Settings<Name, Required> => readSettings(process.env, names, required)

/** The admin token from the setting, else from the file that standalone wrote. Throws CliError `no_admin_token`. */
export async function findAdminToken(config: CliConfig): Promise<string> {
  if (config.admin_token !== undefined) return config.admin_token
  const file = join(config.data_dir, 'admin-token')
  const text = await readFile(file, 'utf8').catch(() => '')
  if (text.trim() !== '') return text.trim()
  throw new CliError(
    'no_admin_token',
    `No admin token: set TRIBUTARY_ADMIN_TOKEN, or start the service once: it writes ${file}, which must be readable.`,
  )
}

export interface ShownSetting {
  name: string
  meaning: string
  default: string | null
  /** The value in the environment with secrets masked; null when not set. */
  value: string | null
}

function mask(value: string, secret: 'whole' | 'password' | undefined): string {
  if (secret === 'whole') return '********'
  if (secret === 'password') return value.replaceAll(/(\/\/[^:/@,]*):[^@,]*@/g, '$1:********@')
  return value
}

/** All settings of the product with their present values. */
export function listSettings(env: NodeJS.ProcessEnv = process.env): ShownSetting[] {
  const shown = Object.entries(settings).map(([name, { meaning, default_text, ...rest }]) => {
    const value = env[name] || null
    return { name, meaning, default: default_text, value: value === null ? null : mask(value, rest.secret) }
  })
  return shown.sort((a, b) => (a.name < b.name ? -1 : 1))
}
