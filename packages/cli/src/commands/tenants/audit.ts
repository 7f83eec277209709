import { once } from 'node:events'
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
      const query = new URLSearchParams({ key: audit_key, ...(app === undefined ? {} : { app_id: app }) })
      const response = await openAdmin(`audit-objects?${query}`)
      if (json) await printDocument(audit_key, response)
      else for await (const request of requestsOf(response)) await write(`${request}\n`)
    })
}

/** Prints `{audit_key, requests: [...]}` as it arrives, because an object may be larger than memory. */
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

/** Escapes control characters in JSON, which a terminal would obey. */
const harmless = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
