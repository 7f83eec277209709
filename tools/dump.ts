import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { generated } from './generated.ts'

const help = `npm run dump

Writes all generated files. Read git diff afterwards.
${generated.map(([what]) => `  ${what}`).join('\n')}
npm run check fails while one of them is outdated.`

/** Writes every file even if one fails. */
function dumpAll(): boolean {
  const cwd = join(import.meta.dirname, '..')
  const failed = generated.filter(([what, program]) => {
    const { status } = spawnSync(process.execPath, [program], { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
    console.info(`${status === 0 ? 'ok  ' : 'FAIL'} ${what}`)
    return status !== 0
  })
  return failed.length === 0
}

if (process.argv.includes('--help')) console.info(help)
else process.exitCode = dumpAll() ? 0 : 1
