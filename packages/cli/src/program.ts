import { EngineRefused } from '@tributary/service-kit/resources/engine-refused'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { Command, CommanderError } from 'commander'
import { CliError, usageError } from './errors.ts'

/** Every command by its name, in the order of `--help`. One run loads one of them: all together take longer than most of them run. */
export const commands: Record<string, () => Promise<(program: Command) => void>> = {
  company: async () => (await import('./commands/tenants/company.ts')).companyCommands,
  app: async () => (await import('./commands/tenants/app.ts')).appCommands,
  key: async () => (await import('./commands/tenants/key.ts')).keyCommands,
  link: async () => (await import('./commands/tenants/link.ts')).linkCommands,
  partner: async () => (await import('./commands/tenants/partner.ts')).partnerCommands,
  'cv-schema': async () => (await import('./commands/tenants/cv-schema.ts')).cvSchemaCommands,
  admin: async () => (await import('./commands/tenants/people.ts')).peopleCommands,
  'audit-log': async () => (await import('./commands/tenants/audit-log.ts')).auditLogCommand,
  status: async () => (await import('./commands/operate/status.ts')).statusCommand,
  send: async () => (await import('./commands/events/send.ts')).sendCommand,
  backfill: async () => (await import('./commands/events/backfill.ts')).backfillCommand,
  import: async () => (await import('./commands/events/import.ts')).importCommand,
  cost: async () => (await import('./commands/events/cost.ts')).costCommands,
  reports: async () => (await import('./commands/events/reports.ts')).reportCommands,
  raw: async () => (await import('./commands/events/raw.ts')).rawCommand,
  attribution: async () => (await import('./commands/events/attribution.ts')).attributionCommands,
  explain: async () => (await import('./commands/events/explain.ts')).explainCommand,
  postback: async () => (await import('./commands/events/postback.ts')).postbackCommands,
  store: async () => (await import('./commands/events/store.ts')).storeCommands,
  fx: async () => (await import('./commands/tenants/fx.ts')).fxCommands,
  erase: async () => (await import('./commands/tenants/erase.ts')).eraseCommands,
  retention: async () => (await import('./commands/tenants/retention.ts')).retentionCommands,
  audit: async () => (await import('./commands/tenants/audit.ts')).auditCommands,
  dead: async () => (await import('./commands/operate/dead.ts')).deadCommands,
  reconcile: async () => (await import('./commands/compare/reconcile.ts')).reconcileCommand,
  replay: async () => (await import('./commands/operate/replay.ts')).replayCommand,
  export: async () => (await import('./commands/operate/export.ts')).exportCommand,
  rebuild: async () => (await import('./commands/operate/rebuild.ts')).rebuildCommand,
  settle: async () => (await import('./commands/operate/settle.ts')).settleCommand,
  backup: async () => (await import('./commands/operate/backup.ts')).backupCommand,
  config: async () => (await import('./commands/operate/config.ts')).configCommand,
  topics: async () => (await import('./commands/operate/topics.ts')).topicsCommands,
  migrate: async () => (await import('./commands/operate/migrate.ts')).migrateCommand,
  geo: async () => (await import('./commands/operate/geo.ts')).geoCommands,
  'master-key': async () => (await import('./commands/operate/master-key.ts')).masterKeyCommands,
  doctor: async () => (await import('./commands/operate/doctor.ts')).doctorCommand,
}

/** Runs one command line; resolves with its exit code: 0, 1 (failed) or 2 (typed wrongly). */
export async function runProgram(args: readonly string[]): Promise<number> {
  const program = new Command('tributary')
    .description('Operates a Tributary service at TRIBUTARY_URL (default http://127.0.0.1:8080).')
    .version('0.1.0')
    .enablePositionalOptions() // --version of a command is that of what it shows
  for (const load of chosen(args)) (await load())(program)
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

/** The command that is named, else all, which are listed or searched for a likely name. */
function chosen([name = '']: readonly string[]) {
  return Object.hasOwn(commands, name) ? [commands[name]!] : Object.values(commands)
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
  const message = `${error.message}${optionOf(error, running)}`
  const text = json ? JSON.stringify({ error: code, message }) : `${code}: ${message}`
  process.stderr.write(`${text}\n`)
  return error.exit_code
}

/** The option that holds the refused field, else the name of the field. */
function optionOf({ field }: CliError, { options }: Command): string {
  if (field === undefined) return ''
  const option = options.find((one) => {
    const name = one.name().replaceAll('-', '_')
    return [name, `${name}_id`, `${name}_ms`].includes(field) // --app holds app_id, --since holds since_ms
  })
  return ` (${option?.long ?? field})`
}
