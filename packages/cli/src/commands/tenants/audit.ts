import { once } from 'node:events'
import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { CliError } from '../../errors.ts'
import { linesOf } from '../../response-lines.ts'

interface ShowOptions {
  app?: string
  json?: boolean
}

/** `audit show`. */
export function auditCommands(program: Command): void {
  const audit = program.command('audit').description('what the service keeps of each accepted request')
  audit
    .command('show')
    .description('print an audit object: one line of JSON for each request in it')
    .argument('<audit_key>', 'as it was answered')
    .option('--app <app_id>', 'the app it belongs to; needed for all but the keys of /event')
    .action(async (audit_key: string, { app, json }: ShowOptions) => {
      const query = { key: audit_key, app_id: app }
      const response = await openAdmin(storedDataRoutes.getAuditObject, { query })
      if (json) await printDocument(audit_key, response)
      else for await (const request of requestsOf(response)) await write(`${request}\n`)
    })
}

/** `{audit_key, requests: [...]}`, written as it comes: an object may be larger than memory. */
async function printDocument(audit_key: string, response: Response): Promise<void> {
  let before = `{"audit_key":${JSON.stringify(audit_key)},"requests":[`
  for await (const request of requestsOf(response)) {
    await write(before + request)
    before = ','
  }
  await write(before === ',' ? ']}\n' : `${before}]}\n`)
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

/** The same JSON without the control characters that it may hold unescaped: a terminal would obey them. */
const harmless = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
