import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSettings } from '@tributary/service-kit/read-settings'
import { settings } from '@tributary/service-kit/settings'
import { CliError } from './errors.ts'

export interface CliConfig {
  /** Address of the service, without a slash at its end. */
  url: string
  data_dir: string
  admin_token: string | undefined
}

/** What the commands need of the environment (commands.md "Settings"). Throws CliError `bad_settings`. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): CliConfig {
  const read = readSettings(env, ['TRIBUTARY_DATA_DIR', 'TRIBUTARY_ADMIN_TOKEN'])
  const given = env.TRIBUTARY_URL || 'http://127.0.0.1:8080'
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new CliError('bad_settings', 'TRIBUTARY_URL is no http or https address.')
  }
  return { url: given.replace(/\/+$/, ''), data_dir: read.TRIBUTARY_DATA_DIR, admin_token: read.TRIBUTARY_ADMIN_TOKEN }
}

/** The token of the admin API: the setting, else the file that standalone wrote. Throws CliError `no_admin_token`. */
export async function findAdminToken(config: CliConfig): Promise<string> {
  if (config.admin_token !== undefined) return config.admin_token
  const file = join(config.data_dir, 'admin-token')
  const text = await readFile(file, 'utf8').catch(() => '')
  if (text.trim() !== '') return text.trim()
  throw new CliError(
    'no_admin_token',
    `No admin token: set TRIBUTARY_ADMIN_TOKEN, or start the service so that ${file} is there and readable.`,
  )
}

export interface ShownSetting {
  name: string
  meaning: string
  default: string | null
  /** As in the environment, null when not set; secrets are masked. */
  value: string | null
}

const cli_only: ShownSetting = {
  name: 'TRIBUTARY_URL',
  meaning: 'where the tributary command finds the service',
  default: 'http://127.0.0.1:8080',
  value: null,
}

function mask(value: string, secret: 'whole' | 'password' | undefined): string {
  if (secret === 'whole') return '********'
  if (secret === 'password') return value.replaceAll(/(\/\/[^:/@,]*):[^@,]*@/g, '$1:********@')
  return value
}

/** Every setting of the product with its present value. */
export function listSettings(env: NodeJS.ProcessEnv = process.env): ShownSetting[] {
  const shown = Object.entries(settings).map(([name, { meaning, default_text, ...rest }]) => {
    const value = env[name] || null
    return { name, meaning, default: default_text, value: value === null ? null : mask(value, rest.secret) }
  })
  return [...shown, { ...cli_only, value: env.TRIBUTARY_URL || null }].sort((a, b) => (a.name < b.name ? -1 : 1))
}
