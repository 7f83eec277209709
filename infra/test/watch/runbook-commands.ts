import { readdirSync } from 'node:fs'
import { join } from 'node:path'
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
