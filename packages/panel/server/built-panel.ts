import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of this package. */
export const panel_dir = join(import.meta.dirname, '..')
const root = join(panel_dir, '..', '..')

/** What a build reads, from the root: sources, and the versions of packages. */
const sources = ['packages/panel/{src,server}/**/*.*', 'packages/panel/*.{html,json,ts}', 'package-lock.json']

export interface BuiltPanel {
  /** The folder of the files. It exists once they are complete. */
  dir: string
  /** Exists, with the reason, after a build that failed. */
  failure: string
}

/** The build in a folder. */
export const builtIn = (dir: string): BuiltPanel => ({ dir, failure: `${dir}.failed` })

/** Where the build of the present sources is. Other sources have another name, so an old build is never shown. */
export function builtPanel(): BuiltPanel {
  const hash = createHash('sha256')
  const files = globSync(sources, { cwd: root }).toSorted()
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  return builtIn(join(root, 'node_modules', '.cache', 'panel', hash.digest('hex').slice(0, 16)))
}

export const isBuilt = ({ dir }: BuiltPanel): boolean => existsSync(dir)
