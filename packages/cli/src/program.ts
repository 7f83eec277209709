import { EngineRefused } from '@tributary/service-kit/engines/engine-refused'
import { StartRefused } from '@tributary/service-kit/service/run-service'
import { Command, CommanderError } from 'commander'
import { backfillCommand } from './commands/events/backfill.ts'
import { explainCommand } from './commands/events/explain.ts'
import { postbackCommands } from './commands/events/postback.ts'
import { reportCommands } from './commands/events/reports.ts'
import { sendCommand } from './commands/events/send.ts'
import { backupCommand } from './commands/operate/backup.ts'
import { configCommand } from './commands/operate/config.ts'
import { deadCommands } from './commands/operate/dead.ts'
import { doctorCommand } from './commands/operate/doctor.ts'
import { exportCommand } from './commands/operate/export.ts'
import { geoCommands } from './commands/operate/geo.ts'
import { masterKeyCommands } from './commands/operate/master-key.ts'
import { migrateCommand } from './commands/operate/migrate.ts'
import { rebuildCommand } from './commands/operate/rebuild.ts'
import { replayCommand } from './commands/operate/replay.ts'
import { settleCommand } from './commands/operate/settle.ts'
import { statusCommand } from './commands/operate/status.ts'
import { topicsCommands } from './commands/operate/topics.ts'
import { appCommands } from './commands/tenants/app.ts'
import { auditCommands } from './commands/tenants/audit.ts'
import { companyCommands } from './commands/tenants/company.ts'
import { cvSchemaCommands } from './commands/tenants/cv-schema.ts'
import { eraseCommands } from './commands/tenants/erase.ts'
import { fxCommands } from './commands/tenants/fx.ts'
import { keyCommands } from './commands/tenants/key.ts'
import { linkCommands } from './commands/tenants/link.ts'
import { CliError, usageError } from './errors.ts'

const groups = [
  companyCommands,
  appCommands,
  keyCommands,
  linkCommands,
  cvSchemaCommands,
  statusCommand,
  sendCommand,
  backfillCommand,
  reportCommands,
  explainCommand,
  postbackCommands,
  fxCommands,
  eraseCommands,
  auditCommands,
  deadCommands,
  replayCommand,
  exportCommand,
  rebuildCommand,
  settleCommand,
  backupCommand,
  configCommand,
  topicsCommands,
  migrateCommand,
  geoCommands,
  masterKeyCommands,
  doctorCommand,
]

/** Runs one command line; resolves with its exit code: 0, 1 (failed) or 2 (typed wrongly). */
export async function runProgram(args: readonly string[]): Promise<number> {
  const program = new Command('tributary')
    .description('Operates a Tributary service at TRIBUTARY_URL (default http://127.0.0.1:8080).')
    .version('0.1.0')
    .enablePositionalOptions() // --version of a command is that of what it shows
  for (const add of groups) add(program)
  for (const command of everyCommand(program)) prepare(command)
  let running = program
  program.hook('preAction', (_program, command) => {
    running = command
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    return report(toCliError(error), running, args.includes('--json'))
  }
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** Adds `--json` to a command, and keeps commander from printing errors: `report` does it. */
function prepare(command: Command): void {
  if (command.commands.length === 0) command.option('--json', 'print exactly one JSON document')
  command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {} })
}

function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return usageError(usageMessage(error))
  if (error instanceof EngineRefused) return new CliError('engine_unusable', error.message)
  if (error instanceof StartRefused) return new CliError('bad_settings', error.message)
  const { code, message, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && path !== undefined) return new CliError('file_not_found', `The file ${path} does not exist.`)
  if (typeof code === 'string' && path !== undefined) return new CliError('file_failed', `${path}: ${message}`)
  return new CliError('internal_error', message)
}

function usageMessage({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'Name a command; --help lists them.'
  return message.replace(/^error: /, '')
}

function report(error: CliError, running: Command, json: boolean): number {
  const { code } = error
  const message = `${error.message}${placeOf(error, running)}`
  const text = json ? JSON.stringify({ error: code, message }) : `${code}: ${message}`
  process.stderr.write(`${text}\n`)
  return error.exit_code
}

/** The option that holds the refused field, else the name of the field. */
function placeOf({ field }: CliError, { options }: Command): string {
  if (field === undefined) return ''
  const option = options.find((one) => {
    const name = one.name().replaceAll('-', '_')
    return [name, `${name}_id`, `${name}_ms`].includes(field) // --app holds app_id, --since holds since_ms
  })
  return ` (${option?.long ?? field})`
}
