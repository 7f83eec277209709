import { defaultScopes, type KeyScope, keyScopes, serverKeyRoutes } from '@tributary/contracts/admin/server-keys'
import { type Command, InvalidArgumentError } from 'commander'
import { admin } from '../../admin.ts'
import { byComma } from '../../arguments.ts'
import { lines, print, table } from '../../output.ts'
import { rotateMasterCommand } from '../operate/rotate-master.ts'

interface CreateOptions {
  app: string
  label: string
  allow: string[]
  scope?: KeyScope[]
  json?: boolean
}

const isScope = (text: string): text is KeyScope => keyScopes.some((scope) => scope === text)

/** Reads scopes separated by commas, from one or several options. */
function scopesOf(text: string, before: KeyScope[] = []): KeyScope[] {
  const given = byComma(text)
  if (given.length === 0 || !given.every(isScope)) {
    throw new InvalidArgumentError(`The scopes are ${keyScopes.join(', ')}.`)
  }
  return [...new Set([...before, ...given])]
}

/** Adds `key create|list|revoke|rotate-master`. */
export function keyCommands(program: Command): void {
  const key = program
    .command('key')
    .description('server keys of an app: create, list, revoke; the master key: rotate-master')
  key
    .command('create')
    .description('create a server key; it is shown once')
    .requiredOption('--app <app_id>', 'the app of the key')
    .requiredOption('--label <label>', 'the purpose of the key')
    .option('--allow <events>', 'allow only these event names, separated by commas (default: all)', byComma, [])
    .option(
      '--scope <scopes>',
      `${keyScopes.join(', ')}; separated by commas or repeated (default: ${defaultScopes.join(',')})`,
      scopesOf,
    )
    .action(async ({ app, label, allow, scope, json }: CreateOptions) => {
      const body = { app_id: app, label, allowed_events: allow, scopes: scope }
      const created = await admin(serverKeyRoutes.createServerKey, { body })
      const shown = { ...created, allowed_events: eventsOf(created), scopes: scope ?? defaultScopes }
      print({ json }, created, `${lines(shown)}\nKeep the key: it is not shown again.`)
    })
  key
    .command('list')
    .description('list the server keys of an app')
    .requiredOption('--app <app_id>', 'the app')
    .action(async ({ app, json }: { app: string; json?: boolean }) => {
      const answer = await admin(serverKeyRoutes.listServerKeys, { query: { app_id: app } })
      const head = ['key_id', 'label', 'key', 'events', 'scopes', 'status', 'created', 'last used', 'requests in 24 h']
      const rows = answer.keys.map((one) => [
        one.key_id,
        one.label,
        one.display,
        eventsOf(one),
        one.scopes,
        one.status,
        new Date(one.created_at_ms).toISOString(),
        one.last_used_ms === null ? '-' : new Date(one.last_used_ms).toISOString(),
        one.requests_24h ?? '-',
      ])
      print({ json }, answer, table(head, rows))
    })
  key
    .command('revoke')
    .description('refuse a server key from now on')
    .argument('<key_id>')
    .action(async (key_id: string, options: { json?: boolean }) => {
      const answer = await admin(serverKeyRoutes.revokeServerKey, { params: { id: key_id } })
      print(options, answer, `${answer.key_id} is ${answer.status}`)
    })
  rotateMasterCommand(key)
}

const eventsOf = ({ allowed_events }: { allowed_events: string[] }): string => allowed_events.join(',') || 'all'
