import { WhatIf, WhatIfLine, whatIfRoutes } from '@tributary/contracts/admin/rows/what-if'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { openAdmin } from '../../admin.ts'
import { checkedNumber, instant, instant_forms } from '../../arguments.ts'
import { CliError } from '../../errors.ts'
import { whatIfStory } from '../../explain/what-if-story.ts'
import { print } from '../../output.ts'
import { linesOf } from '../../response-lines.ts'

interface WhatIfOptions {
  app: string
  since: number
  until: number
  clickWindowHours?: number
  probabilistic: boolean
  reinstallDays?: number
  json?: boolean
}

const help = `
Decides the installs of the window again from the clicks and install events that are stored, and writes nothing. A setting that
is not given stays as it was when each install was decided. The clicks of the 30 days before the window must be stored.
docs/attribution.md#what-if tells what stays as it is.
--json: {installs, changed, partners: [{partner, before, after, reinstalls_before, reinstalls_after}], moves: [{from, to,
installs, example}]}: installs of the window, those with another verdict, installs by partner, and the largest moves.`

/** Adds `attribution what-if`. */
export function attributionCommands(program: Command): void {
  program
    .command('attribution')
    .description('the attribution of an app')
    .command('what-if')
    .description('tell what other settings would change')
    .requiredOption('--app <app_id>', 'the app')
    .requiredOption('--since <time>', `first install time: ${instant_forms}`, instant)
    .requiredOption('--until <time>', 'exclusive end; same forms', instant)
    .option('--click-window-hours <hours>', 'window of clicks whose link has none of its own', checkedNumber)
    .option('--no-probabilistic', 'match nothing by address')
    .option('--reinstall-days <days>', 'window of reinstalls', checkedNumber)
    .addHelpText('after', help)
    .action(async (options: WhatIfOptions) => {
      const { app: app_id, since: since_ms, until: until_ms, probabilistic, json = false } = options
      const query = {
        ...{ since_ms, until_ms, click_window_hours: options.clickWindowHours },
        ...{ probabilistic: probabilistic ? undefined : ('false' as const), reinstall_days: options.reinstallDays },
      }
      const response = await openAdmin(whatIfRoutes.whatIf, { params: { app_id }, query })
      const answer = await follow(response, !json)
      print(options, answer, json ? '' : whatIfStory(answer))
    })
}

/** Reads the lines, shows the progress on a terminal, and returns the last line. Throws CliError `unavailable` without one. */
async function follow(response: Response, shown: boolean): Promise<WhatIf> {
  const format = ' {bar} {percentage}% | {value} of {total} installs | {eta_formatted} left'
  const bar = shown && process.stderr.isTTY ? new SingleBar({ format, stream: process.stderr, hideCursor: true }) : null
  let answer: WhatIf | null = null
  bar?.start(1, 0)
  try {
    for await (const text of linesOf(response)) {
      const line = WhatIfLine.parse(JSON.parse(text))
      if (line.kind === 'what_if') answer = WhatIf.parse(line)
      else {
        bar?.setTotal(Math.max(1, line.installs))
        bar?.update(line.decided)
      }
    }
  } catch {
    throw brokeOff()
  } finally {
    bar?.stop()
  }
  if (answer === null) throw brokeOff()
  return answer
}

const brokeOff = () => new CliError('unavailable', 'The answer was broken off: run the command again.')
