import { once } from 'node:events'
import { ExportLine, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { CliError } from '../../errors.ts'
import { linesOf } from '../../response-lines.ts'

const help = `
Prints a line {"table", "row"} for each row of the tables that belongs to the install, also with the clicks that it won. The
audit_key of an event names the request that brought it: see "audit show". For an unknown install it prints no line, says so on
standard error, and ends with 0: "nothing is stored" is an answer too.
--json: {"app_id", "install_uuid", "rows": [{"table", "row"}]}.
docs/privacy.md tells how to answer an access request.`

/** Adds `export INSTALL_UUID --app ID`. */
export function exportCommand(program: Command): void {
  program
    .command('export')
    .description('print all that is known of an install, as JSON lines')
    .argument('<install_uuid>')
    .requiredOption('--app <app_id>', 'app of the install')
    .addHelpText('after', help)
    .action(async (install_uuid: string, { app, json }: { app: string; json?: boolean }) => {
      const input = { params: { install_uuid }, query: { app_id: app } }
      const response = await openAdmin(storedDataRoutes.exportInstall, input)
      if (json)
        await printDocument(`{"app_id":${JSON.stringify(app)},"install_uuid":${JSON.stringify(install_uuid)}`, response)
      else if ((await printRows(response)) === 0) process.stderr.write(nothingOf(install_uuid, app))
    })
}

const nothingOf = (install_uuid: string, app_id: string): string =>
  `No table holds anything of install ${install_uuid} in app ${app_id}. Ids are compared exactly, capitals too. ` +
  `"tributary erase status" tells whether it was erased; what was sent just now is there after "tributary status --wait".\n`

/** Prints a line for each row; returns how many. */
async function printRows(response: Response): Promise<number> {
  let count = 0
  for await (const row of rowsOf(response)) {
    await write(`${row}\n`)
    count += 1
  }
  return count
}

/** Prints one document as it arrives, because it may be larger than memory. */
async function printDocument(head: string, response: Response): Promise<void> {
  let before = `${head},"rows":[`
  for await (const row of rowsOf(response)) {
    await write(before + row)
    before = ','
  }
  await write(before === ',' ? ']}\n' : `${before}]}\n`)
}

/** Lines of rows. Throws `unavailable` where the last line is not there: the answer broke off. */
async function* rowsOf(response: Response): AsyncGenerator<string> {
  let done = false
  try {
    for await (const line of linesOf(response)) {
      done = 'done' in ExportLine.parse(JSON.parse(line))
      // Characters that a terminal would obey are escaped.
      if (!done)
        yield line.replace(
          /[\u007f-\u009f\u2028\u2029]/g,
          (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
    }
  } catch (cause) {
    throw brokeOff(cause)
  }
  if (!done) throw brokeOff()
}

const brokeOff = (cause?: unknown) =>
  new CliError(
    'unavailable',
    `The answer broke off${cause instanceof Error ? ` (${cause.message})` : ''}. Run it again.`,
  )

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
