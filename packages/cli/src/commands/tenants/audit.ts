import { once } from 'node:events'
import { rewritten_header, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { CliError } from '../../errors.ts'
import { linesOf } from '../../response-lines.ts'

interface ShowOptions {
  app?: string
  json?: boolean
}

/** Adds `audit show`. */
export function auditCommands(program: Command): void {
  const audit = program.command('audit').description('the stored copies of accepted requests: show')
  audit
    .command('show')
    .description('print an audit object, one JSON line per request in it')
    .argument('<audit_key>', 'the audit_key of the answer')
    .option('--app <app_id>', 'the app of the object; required except for keys of /event')
    .action(async (audit_key: string, { app, json }: ShowOptions) => {
      const query = { key: audit_key, app_id: app }
      const response = await openAdmin(storedDataRoutes.getAuditObject, { query })
      const rewritten_at_ms = rewrittenAt(response)
      if (json) await printDocument({ audit_key, ...(rewritten_at_ms === null ? {} : { rewritten_at_ms }) }, response)
      else {
        for await (const request of requestsOf(response)) await write(`${request}\n`)
        if (rewritten_at_ms !== null) process.stderr.write(rewrittenNote(rewritten_at_ms))
      }
    })
}

/** When an erasure rewrote the object, Unix epoch ms. */
function rewrittenAt({ headers }: Response): number | null {
  const text = headers.get(rewritten_header)
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

const rewrittenNote = (ms: number): string =>
  `The object was rewritten at ${new Date(ms).toISOString()}: events of erased installs were taken out of it.\n`

/** Prints `{audit_key, rewritten_at_ms?, requests: [...]}` as it arrives, because an object may be larger than memory. */
async function printDocument(
  facts: { audit_key: string; rewritten_at_ms?: number },
  response: Response,
): Promise<void> {
  let before = `${JSON.stringify(facts).slice(0, -1)},"requests":[`
  let any = false
  for await (const request of requestsOf(response)) {
    await write(before + request)
    before = ','
    any = true
  }
  await write(any ? ']}\n' : `${before}]}\n`)
}

async function* requestsOf(response: Response): AsyncGenerator<string> {
  try {
    if (!response.headers.get('content-type')?.startsWith('application/x-ndjson')) yield harmless(await response.text())
    else {
      for await (const line of linesOf(response)) yield harmless(line)
    }
  } catch (error) {
    throw new CliError('unavailable', `The answer broke off (${(error as Error).message}).`)
  }
}

/** Escapes control characters in JSON, which a terminal would obey. */
const harmless = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
