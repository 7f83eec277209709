import { type Certificate, type ErasureRun, erasureRoutes } from '@tributary/contracts/admin/erasures'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { lines, print, table } from '../../output.ts'

interface InstallOptions {
  app: string
  json?: boolean
}

const requestHelp = `
Erases all that is stored of the install, for ever: compare the id with "tributary export" first. A wrong id is accepted as
well, and erases nothing. May be repeated. docs/privacy.md tells what is erased and what remains.
--json: {queued}`

const runHelp = `
The eraser does the same each night at 02:00 UTC. The command may be stopped: the run goes on. A request of an app
(POST /privacy/delete) counts once the eraser has read it: "tributary status --wait" waits for that.
--json: {drained, rows, batches}: installs whose rows are gone, rows by table, and requests and rows of each batch`

const statusHelp = `
queued: the next run erases it. draining: a run is at work. completed: no request is newer than the last erasure; what the
log and backups still hold, and for how long, is in docs/privacy.md. Rows and objects add up over all erasures of the install.
objects_unreadable: so many audit objects may hold its data and cannot be read; see "Unreadable objects" in docs/operations.md.
--json: {state, marks: [{requested_at_ms, erased_up_to_ms}], drained_at_ms, rows: {table: n}, objects_rewritten, version}, and
objects_unreadable where it is not 0`

/** Adds `erase request|run|status`. */
export function eraseCommands(program: Command): void {
  const erase = program.command('erase').description('erase installs of people who asked for it: request, run, status')
  const ofInstall = (name: string, description: string) =>
    erase
      .command(name)
      .description(description)
      .argument('<install_uuid>', 'the install, by the id that its SDK made')
      .requiredOption('--app <app_id>', 'app of the install')

  ofInstall('request', 'queue an install; the next run erases it')
    .addHelpText('after', requestHelp)
    .action(async (install_uuid: string, { app, json }: InstallOptions) => {
      const queued = await admin(erasureRoutes.requestErasure, { body: { app_id: app, install_uuid } })
      print({ json }, queued, 'Queued. `tributary erase run` erases it now, the eraser at 02:00 UTC.')
    })
  ofInstall('status', 'print the certificate of an erasure')
    .addHelpText('after', statusHelp)
    .action(async (install_uuid: string, { app, json }: InstallOptions) => {
      const certificate = await admin(erasureRoutes.getErasure, { query: { app_id: app, install_uuid } })
      print({ json }, certificate, describe(certificate))
    })
  erase
    .command('run')
    .description('erase what is queued now, and wait until it is done')
    .addHelpText('after', runHelp)
    .action(async (options: { json?: boolean }) => {
      let answer = await admin(erasureRoutes.runErasures, { body: {} })
      for (let shown = ''; !answer.done; ) {
        const line = untilNow(answer)
        if (line !== shown && !options.json) process.stderr.write(`${line}\n`)
        shown = line
        answer = await admin(erasureRoutes.runErasures, { body: { run: answer.run } })
      }
      const { drained, rows, batches } = answer
      print(
        options,
        { drained, rows, batches },
        [`${installs(drained)} erased`, rowsOf(rows)].filter(Boolean).join('\n'),
      )
    })
}

const untilNow = ({ drained, batches }: ErasureRun): string =>
  drained === 0 && batches.length === 0
    ? 'Nothing is erased yet. Is the eraser running? Its log names what it waits for.'
    : `${installs(drained)} erased until now.`

const installs = (count: number): string => (count === 1 ? '1 install' : `${count} installs`)

const rowsOf = (rows: Record<string, number>): string =>
  Object.keys(rows).length === 0 ? '' : table(['table', 'rows'], Object.entries(rows))

function describe({ state, marks, drained_at_ms, rows, objects_rewritten, objects_unreadable }: Certificate): string {
  const time = (ms: number) => new Date(ms).toISOString()
  return [
    lines({
      ...{ state, drained_at: drained_at_ms === null ? '' : time(drained_at_ms), objects_rewritten },
      ...(objects_unreadable !== undefined && { objects_unreadable }),
    }),
    ...marks.map((one) => `requested at ${time(one.requested_at_ms)}, erased up to ${time(one.erased_up_to_ms)}`),
    rowsOf(rows),
  ]
    .filter(Boolean)
    .join('\n')
}
