import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { EngineUnavailable } from '@tributary/testing/engines/engine'
import { announce, cacheDir, needed, once } from '@tributary/testing/engines/install'
import { expect, it } from 'vitest'
import { composeText } from './compose-file.ts'

const run = promisify(execFile)
/** Brings the schema of the compose specification with it. */
const version = '0.39.0'

interface Checker {
  /** What is wrong with a compose file; empty when nothing is. */
  check(text: string): Promise<string>
  stop(): Promise<void>
}

async function openChecker(): Promise<Checker> {
  const dir = join(cacheDir(), `check-jsonschema-${version}`)
  await needed('python3', 'check-jsonschema needs Python 3 with pip')
  await once(async () => {
    if (existsSync(dir)) return
    announce('Installing check-jsonschema from PyPI, once for this machine ...')
    const draft = await mkdtemp(`${dir}-`)
    try {
      const install = ['-m', 'pip', 'install', '-q', '--target', draft, `check-jsonschema==${version}`]
      await run('python3', install, { timeout: 120_000 })
      await rename(draft, dir)
    } catch (cause) {
      await rm(draft, { recursive: true, force: true })
      throw new EngineUnavailable('check-jsonschema could not be installed from PyPI', { cause })
    }
  })
  const place = await mkdtemp(join(tmpdir(), 'tributary-schema-'))
  const file = join(place, 'docker-compose.yml')
  return {
    async check(text) {
      await writeFile(file, text)
      const args = ['-m', 'check_jsonschema', '--builtin-schema', 'vendor.compose-spec', file]
      const env = { ...process.env, PYTHONPATH: dir }
      return run('python3', args, { env }).then(
        () => '',
        (error: { stdout: string }) => error.stdout,
      )
    },
    stop: () => rm(place, { recursive: true, force: true }),
  }
}

await describeWith('compose schema', openChecker, (checker) => {
  it('docker-compose.yml is what the compose specification allows', async () => {
    expect(await checker.check(composeText)).toBe('')
  })
  it('would be told apart if it were not', async () => {
    expect(await checker.check(composeText.replace('read_only: true', 'read_olny: true'))).toContain('read_olny')
  })
})
