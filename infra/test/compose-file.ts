import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** What is read here of a service; the rest is held against the schema of the compose specification. */
export interface ComposeService {
  image: string
  build?: { dockerfile: string }
  entrypoint?: string[]
  command?: string[]
  environment?: Record<string, string>
  depends_on?: Record<string, { condition: 'service_healthy' | 'service_completed_successfully' }>
  deploy?: { replicas: number }
  volumes?: string[]
  healthcheck?: { test: string[] }
  restart: string
  stop_grace_period?: string
  [key: string]: unknown
}

const root = join(import.meta.dirname, '..', '..')
export const composeText = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
export const envExample = readFileSync(join(root, '.env.example'), 'utf8')

/** The services as Compose sees them with the variables of an .env file. Throws for one that is needed and absent. */
export function readCompose(variables: Record<string, string>): Record<string, ComposeService> {
  const file = parse(composeText, { merge: true })
  return resolved(file.services, variables) as Record<string, ComposeService>
}

function resolved(value: unknown, variables: Record<string, string>): unknown {
  if (typeof value === 'string') return interpolated(value, variables)
  if (Array.isArray(value)) return value.map((item) => resolved(item, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, variables)]))
}

/** `$$`, `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as the specification says. */
const interpolated = (text: string, variables: Record<string, string>): string =>
  text.replaceAll(/\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})/g, (_all, name?: string, sign?: string, word = '') => {
    if (name === undefined) return '$'
    const value = variables[name] || (sign === '-' ? word : '')
    if (value === '' && sign === '?') throw new Error(`${name}: ${word}`)
    return value
  })

/** The variables of an .env file, comments left out. */
export const parseEnv = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^([A-Z]\w*)=(.*)$/gm)].map(([, name, value]) => [name, value]))
