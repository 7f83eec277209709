import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { commands as programCommands } from '../../../packages/cli/src/program.ts'
import { read, root } from './watch-files.ts'

const folder = 'docs/runbooks'
/** Runbooks by their name without `.md`; README.md lists them. */
export const runbooks = new Map(
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => [name.slice(0, -3), read(`${folder}/${name}`)]),
)

/** Every `npx tributary` command of the runbooks, each once: in blocks of code and in the text. */
export const commands = [
  ...new Set(
    [...runbooks.values()].flatMap((text) =>
      [...text.matchAll(/npx tributary ([^`\n]*[^`\n .])/g)].map(([, command = '']) => command.replace(/ [|<>].*/, '')),
    ),
  ),
].sort()

/** Commands of a change that is on its way, as long as the program has none of the name. */
export const pendingCommands = ['reconcile'].filter((name) => !Object.hasOwn(programCommands, name))
