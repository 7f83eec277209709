import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { unpackVersion } from '../../upgrade/version-before.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tributary-versions-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const git = (at: string, ...words: string[]) =>
  execFileSync('git', ['-C', at, '-c', 'user.name=test', '-c', 'user.email=test@example.com', ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()

/** A repository with two commits: `name` is `before` in the first, `now` in the second. Gives the id of the first. */
function makeHistory(at: string): string {
  mkdirSync(at)
  git(at, 'init', '--quiet')
  writeFileSync(
    join(at, 'package-lock.json'),
    '{"packages":{"node_modules/@tributary/one":{"resolved":"one","link":true}}}',
  )
  for (const name of ['before', 'now']) {
    writeFileSync(join(at, 'name'), name)
    mkdirSync(join(at, 'one'), { recursive: true })
    writeFileSync(join(at, 'one', 'name'), name)
    git(at, 'add', '--all')
    git(at, 'commit', '--quiet', '--message', name)
  }
  return git(at, 'rev-parse', 'HEAD~1')
}

it('a version is unpacked from the history, and its workspaces are its own', async () => {
  const commit = makeHistory(join(dir, 'whole'))
  await unpackVersion(commit, join(dir, 'unpacked'), join(dir, 'whole'))
  expect(readFileSync(join(dir, 'unpacked', 'name'), 'utf8')).toBe('before')
  expect(readFileSync(join(dir, 'unpacked', 'node_modules', '@tributary', 'one', 'name'), 'utf8')).toBe('before')
})

it('a shallow clone fetches the commit that it lacks', async () => {
  const commit = makeHistory(join(dir, 'whole'))
  git(dir, 'clone', '--quiet', '--depth', '1', `file://${join(dir, 'whole')}`, 'shallow')
  await unpackVersion(commit, join(dir, 'unpacked'), join(dir, 'shallow'))
  expect(readFileSync(join(dir, 'unpacked', 'name'), 'utf8')).toBe('before')
})

it('a clone whose origin does not give the commit fails, and says what to do', async () => {
  makeHistory(join(dir, 'whole'))
  const unpacking = unpackVersion('1'.repeat(40), join(dir, 'unpacked'), join(dir, 'whole'))
  await expect(unpacking).rejects.toThrow(`lacks ${'1'.repeat(40)}, the version before`)
  await expect(unpacking).rejects.toThrow('git fetch --unshallow')
})
