// `npm pack` runs this before (`prepack`) and after (`postpack`). The repository has no build step: only the tarball holds
// JavaScript. Plain JavaScript for Node 20, because npm runs it on whichever Node it has.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const manifest = here('package.json')
/** Holds the repository's manifest while the tarball's manifest takes its place. */
const kept = here('package.json.kept')

/** Undoes `prepack`. It also runs first in `prepack`, to clean up after a killed run. */
function restore() {
  if (existsSync(kept)) renameSync(kept, manifest)
  for (const made of ['dist', 'LICENSE']) rmSync(here(made), { recursive: true, force: true })
}

function build() {
  const tsc = here('../../node_modules/typescript/bin/tsc')
  if (!existsSync(tsc))
    throw new Error('The compiler is not installed yet: run npm start once in the root of the clone.')
  execFileSync(process.execPath, [tsc, '-p', here('tsconfig.pack.json')], { stdio: ['ignore', 2, 2] })
  // The compiler rewrites `.ts` imports in programs, but not in declarations.
  for (const name of readdirSync(here('dist'), { recursive: true }).filter((file) => file.endsWith('.d.ts'))) {
    const path = here(`dist/${name}`)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.\.?\/[\w/-]+)\.ts'/g, "$1.js'"))
  }
}

restore()
if (process.argv[2] === 'prepack') {
  build()
  copyFileSync(here('../../LICENSE'), here('LICENSE'))
  copyFileSync(manifest, kept)
  const { private: _private, scripts: _, devDependencies: __, publishConfig, ...rest } = JSON.parse(readFileSync(kept))
  writeFileSync(manifest, `${JSON.stringify({ ...rest, ...publishConfig }, null, 2)}\n`)
}
