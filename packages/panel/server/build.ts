import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { builtIn, builtPanel, isBuilt, panel_dir } from './built-panel.ts'

const compressible = /\.(js|css|html|svg)$/

// Whoever starts it may be under development or test; what it builds is not.
process.env.NODE_ENV = 'production'

/** The folder that a service waits for; that of the present sources by default. */
const given_dir = process.argv[2]

/** Builds the panel and compresses its files. The folder gets its name last, so a half build is never served. */
async function buildPanel(): Promise<void> {
  const built = given_dir === undefined ? builtPanel() : builtIn(given_dir)
  if (isBuilt(built)) return
  const unfinished = `${built.dir}.${process.pid}`
  try {
    await build({ root: panel_dir, logLevel: 'error', build: { outDir: unfinished, emptyOutDir: true } })
    const files = (await readdir(unfinished, { recursive: true })).filter((file) => compressible.test(file))
    for (const file of files) await compress(join(unfinished, file))
    // Only the folder of builds holds nothing else.
    if (given_dir === undefined || given_dir === builtPanel().dir)
      await removeOthers(dirname(built.dir), [basename(unfinished)])
    await rename(unfinished, built.dir)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    await mkdir(dirname(built.dir), { recursive: true })
    await writeFile(built.failure, String(error))
    throw error
  }
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file)
  await writeFile(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }))
  await writeFile(`${file}.gz`, gzipSync(bytes, { level: 9 }))
}

/** Removes builds of other sources. */
async function removeOthers(folder: string, kept: string[]): Promise<void> {
  const others = (await readdir(folder)).filter((name) => !kept.includes(name) && !/\.\d+$/.test(name))
  for (const name of others) await rm(join(folder, name), { recursive: true, force: true })
}

// A service that ends takes its build along: the pipe from it closes.
if (given_dir !== undefined)
  process.stdin
    .on('close', () => process.exit(1))
    .resume()
    .unref()
await buildPanel()
