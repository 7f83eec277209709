import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { consumers } from '@tributary/contracts/consumers'
import { type SettingName, settings } from '@tributary/service-kit/settings/settings'
import { type DeclaredProcess, type DeclaredService, declaredProcesses } from '@tributary/testing/declared-services'
import { stringify } from 'yaml'

const infra = join(import.meta.dirname, '..', 'infra')

/** The server behind a binding of `/health`, as the chart names it. */
const servers: Record<string, string> = {
  queues: 'kafka',
  analytics: 'clickhouse',
  database: 'postgres',
  key_value: 'redis',
  object_storage: 's3',
}
/** The chart sets these itself. */
const placed: readonly SettingName[] = ['TRIBUTARY_HOST', 'TRIBUTARY_PORT', 'TRIBUTARY_PARTS']
/** Settings that name somebody on the internet. A service with one of them has to reach it. */
const outside = /^TRIBUTARY_(POSTBACK_ALLOWED_NETWORKS|AAK_JWKS_URL|GOOGLE_\w+_URL|APPLE_API_URL|OIDC_ISSUER|SMTP_URL)$/
/** Who a service is at a server. Each part of a process is somebody else. */
const users = /^TRIBUTARY_((POSTGRES|CLICKHOUSE)_URL|S3_(SECRET_)?ACCESS_KEY(_ID)?)$/

type Need = 'required' | 'optional'
interface Facts {
  servers: string[]
  required: string[]
  settings: string[]
  secrets: Record<string, Need>
}

const isSecret = (name: SettingName): boolean => settings[name].secret !== undefined || users.test(name)

/** Name of a setting for one part of a process alone. */
const ofPart = (name: string, part: string): string => `${name}__${part.toUpperCase().replaceAll('-', '_')}`

function secretsOf({ parts, isParted }: DeclaredProcess): Record<string, Need> {
  const need = ({ required }: DeclaredService, name: SettingName): Need =>
    required.includes(name) ? 'required' : 'optional'
  const found = new Map<string, Need>()
  for (const part of parts) {
    for (const name of part.settings.filter(isSecret)) {
      const key = isParted && users.test(name) ? ofPart(name, part.name) : name
      if (found.get(key) !== 'required') found.set(key, need(part, name))
    }
  }
  return Object.fromEntries([...found].sort())
}

function factsOf(process: DeclaredProcess) {
  const open = process.settings.filter((name) => !isSecret(name) && !placed.includes(name))
  const named = process.bindings.flatMap((binding) => servers[binding] ?? [])
  const consuming = new Set<string>(Object.values(consumers).map(({ name }) => name))
  return {
    routes: process.hasRoutes,
    consumers: process.name === 'postback-forwarder' || process.parts.some(({ name }) => consuming.has(name)),
    servers: [...named.sort(), ...(process.settings.some((name) => outside.test(name)) ? ['internet'] : [])],
    required: process.required.filter((name) => open.includes(name)).sort(),
    settings: open.sort(),
    secrets: secretsOf(process),
  }
}

/** `tributary topics apply` and `tributary migrate`: no service declares them. */
function factsOfMigrate(): Facts {
  const names = (Object.keys(settings) as SettingName[]).filter((name) =>
    /^TRIBUTARY_(KAFKA|CLICKHOUSE|POSTGRES|LOG)_/.test(name),
  )
  const required: readonly string[] = ['TRIBUTARY_KAFKA_BROKERS', 'TRIBUTARY_POSTGRES_URL', 'TRIBUTARY_CLICKHOUSE_URL']
  return {
    servers: ['clickhouse', 'kafka', 'postgres'],
    required: ['TRIBUTARY_KAFKA_BROKERS'],
    settings: names.filter((name) => !isSecret(name)).sort(),
    secrets: Object.fromEntries(
      names
        .filter(isSecret)
        .sort()
        .map((name) => [name, required.includes(name) ? 'required' : 'optional']),
    ),
  }
}

/** What the chart knows of the product, by file below infra/helm/tributary/files. */
async function chartFiles(): Promise<Record<string, string>> {
  const services = Object.fromEntries((await declaredProcesses()).map((process) => [process.name, factsOf(process)]))
  return {
    'declared.yaml': `# Made by npm run dump: do not edit.\n${stringify({ services, migrate: factsOfMigrate() })}`,
    'haproxy.cfg': await readFile(join(infra, 'haproxy', 'haproxy.cfg'), 'utf8'),
  }
}

/** Writes the files of the chart; with `--check` it only says when they are out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const folder = join(infra, 'helm', 'tributary', 'files')
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(await chartFiles())) {
    const file = join(folder, name)
    if (!values.check) await writeFile(file, text)
    else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
      console.error(`infra/helm/tributary/files/${name} is out of date: run \`npm run dump\` and commit it.`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) {
  await main()
  process.exit()
}
