import { keyScopes, ServerKeyCreated, ServerKeyList, ServerKeyStatus } from '@tributary/contracts/admin'
import { type Command, InvalidArgumentError } from 'commander'
import { admin } from '../../admin.ts'
import { lines, print, table } from '../../output.ts'
import { rotateMasterCommand } from '../operate/rotate-master.ts'

interface CreateOptions {
  app: string
  label: string
  allow: string[]
  scope?: string[]
  json?: boolean
}

const byComma = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Scopes by comma, collected over several options. */
function scopesOf(text: string, before: string[] = []): string[] {
  const asked = byComma(text)
  const known = keyScopes.map(String)
  if (asked.length === 0 || !asked.every((scope) => known.includes(scope))) {
    throw new InvalidArgumentError(`The scopes are ${known.join(' and ')}.`)
  }
  return [...new Set([...before, ...asked])]
}

/** `key create|list|revoke|rotate-master`. */
export function keyCommands(program: Command): void {
  const key = program.command('key').description('server keys of an app: create, list, revoke; the master key: rotate')
  key
    .command('create')
    .description('create a server key; it is shown once')
    .requiredOption('--app <app_id>', 'the app it is for')
    .requiredOption('--label <label>', 'what it is used for')
    .option('--allow <events>', 'only these event names, by comma (default: all)', byComma, [])
    .option('--scope <scopes>', `${keyScopes.join(' or ')}, by comma or repeated (default: both)`, scopesOf)
    .action(async ({ app, label, allow, scope, json }: CreateOptions) => {
      const body = { app_id: app, label, allowed_events: allow, scopes: scope }
      const created = await admin('keys', ServerKeyCreated, body)
      const shown = { ...created, allowed_events: eventsOf(created), scopes: scope ?? keyScopes }
      print({ json }, created, `${lines(shown)}\nKeep the key: it is not shown again.`)
    })
  key
    .command('list')
    .description('list the server keys of an app')
    .requiredOption('--app <app_id>', 'the app')
    .action(async ({ app, json }: { app: string; json?: boolean }) => {
      const answer = await admin(`keys?app_id=${encodeURIComponent(app)}`, ServerKeyList)
      const head = ['key_id', 'label', 'key', 'events', 'scopes', 'status', 'created']
      const rows = answer.keys.map((one) => [
        one.key_id,
        one.label,
        one.display,
        eventsOf(one),
        one.scopes,
        one.status,
        new Date(one.created_at_ms).toISOString(),
      ])
      print({ json }, answer, table(head, rows))
    })
  key
    .command('revoke')
    .description('refuse a server key from now on')
    .argument('<key_id>')
    .action(async (key_id: string, options: { json?: boolean }) => {
      const answer = await admin(`keys/${encodeURIComponent(key_id)}/revoke`, ServerKeyStatus, {})
      print(options, answer, `${answer.key_id} is ${answer.status}`)
    })
  rotateMasterCommand(key)
}

const eventsOf = ({ allowed_events }: { allowed_events: string[] }): string => allowed_events.join(',') || 'all'
