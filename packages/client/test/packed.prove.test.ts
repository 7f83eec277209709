import { type ExecFileOptions, execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from './gateway.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const scratch = mkdtempSync(join(tmpdir(), 'tributary-packed-'))
const project = join(scratch, 'project')
const copy = join(scratch, 'clone', 'packages', 'client')
const tsc = join(root, 'node_modules', '.bin', 'tsc')
const install_uuid = '0192f0c1-7b1e-7c30-8b51-0f2f8d1d7c11'

const run = async (command: string, args: string[], options: ExecFileOptions = {}) =>
  (await promisify(execFile)(command, args, { cwd: project, timeout: 180_000, ...options })).stdout.toString()

/** This Node, and the one of the machine when it is another. */
async function findNodes(): Promise<[string, string][]> {
  const outside = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  const found = await run('which', ['node'], { cwd: root, env: { PATH: outside.join(':') } }).catch(() => '')
  const paths = [process.execPath, ...found.split('\n').filter(Boolean)]
  const nodes = paths.map(async (path): Promise<[string, string]> => [await run(path, ['-v'], { cwd: root }), path])
  return [...new Map(await Promise.all(nodes))].map(([version, path]) => [version.trim(), path])
}
const nodes = await findNodes()

/** Packs a copy, since other tests import the package at the same time, and installs it into an empty project. */
beforeAll(async () => {
  const client = join(root, 'packages', 'client')
  cpSync(client, copy, { recursive: true, filter: (path) => !path.includes('node_modules') })
  for (const file of ['tsconfig.json', 'LICENSE']) cpSync(join(root, file), join(scratch, 'clone', file))
  symlinkSync(join(root, 'node_modules'), join(scratch, 'clone', 'node_modules'))
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{}')
  await run('npm', ['pack', '--pack-destination', project], { cwd: copy })
  const [tarball] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`])
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const program = `
  const sdk = createSdkClient({ ...gateway.sdk, storage: memoryStorage() })
  await sdk.track({ event_name: 'level_up' })
  const { pending } = await sdk.close()
  const server = createServerClient(gateway.server)
  const event = { event_name: 'purchase', event_ts_ms: Date.now(), install_uuid: '${install_uuid}' }
  const { accepted } = await server.send(event)
  const bulk = await server.sendBulk(Array.from({ length: 12 }, () => event))
  const refused = await createServerClient({ ...gateway.server, server_key: 'srv_0' }).send(event).catch((error) => error)
  console.log(JSON.stringify({ pending, accepted, bulk: bulk.accepted, code: refused.code, known: refused instanceof TributaryError }))
`
const name = '@tributary/client'
const parts = [
  ['createSdkClient', 'sdk-client'],
  ['createServerClient', 'server-client'],
  ['memoryStorage', 'storage'],
  ['TributaryError', 'tributary-error'],
]
const sources = {
  import: parts.map(([made, path]) => `import { ${made} } from '${name}/${path}'`),
  require: parts.map(([made, path]) => `const { ${made} } = require('${name}/${path}')`),
}

describe('the package that npm pack makes, in an empty project', () => {
  it('holds programs, types and documents, and needs no other package', () => {
    const installed = join(project, 'node_modules', '@tributary', 'client')
    expect(readdirSync(installed).sort()).toEqual(['API.md', 'LICENSE', 'README.md', 'dist', 'package.json'])
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@tributary'])
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    for (const field of ['private', 'dependencies', 'devDependencies', 'scripts']) {
      expect(manifest).not.toHaveProperty(field)
    }
    const all = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
    const files = all.filter((file) => /\.(js|ts)$/.test(file))
    expect(files.length).toBeGreaterThan(20)
    for (const file of files) {
      const text = readFileSync(join(installed, 'dist', file), 'utf8')
      // No import leads to Node or to a missing file, for bundlers and resolvers.
      for (const [, imported = ''] of text.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)) {
        expect(imported).toMatch(/^\.\.?\/[\w-/]+\.js$/)
        expect(files).toContain(join(file, '..', imported))
      }
    }
  })

  it('leaves the packed folder unchanged', () => {
    const names = readdirSync(copy)
    expect(names).not.toContain('dist')
    expect(names).not.toContain('package.json.kept')
    const manifest = (folder: string) => readFileSync(join(folder, 'package.json'), 'utf8')
    expect(manifest(copy)).toBe(manifest(join(root, 'packages', 'client')))
  })

  it.each(nodes.flatMap(([version, path]) => (['import', 'require'] as const).map((how) => [version, how, path])))(
    'sends events with both clients on Node %s by %s',
    async (version, how, node) => {
      const gateway = await startGateway()
      const file = join(project, how === 'import' ? 'program.mjs' : 'program.cjs')
      const given = `const gateway = ${JSON.stringify({ sdk: gateway.sdk, server: gateway.server })}`
      const lines = [...sources[how as 'import'], given, `;(async () => {${program}})()`]
      writeFileSync(file, lines.join('\n'))
      const printed = JSON.parse(await run(node!, [file]))
      expect(printed).toEqual({ pending: 0, accepted: 1, bulk: 12, code: 'unknown_or_revoked_key', known: true })
      const names = gateway.events().map(({ event_name }) => event_name)
      expect(names.sort()).toEqual(['level_up', ...Array(13).fill('purchase')])
      const { version: packed } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'))
      expect(gateway.envelopes()).toContainEqual(expect.objectContaining({ sdk: `tributary-ts-${packed}` }))
      expect(version).toMatch(/^v2\d\./)
    },
  )

  it.each([
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ])('is a TypeScript library that needs no option, with moduleResolution %s', async (resolution, module) => {
    const consumer = `
      import { createSdkClient, type RejectedEvent, type SdkClientOptions, type SdkEvent } from '@tributary/client/sdk-client'
      import { type BulkResult, BulkError, createServerClient, type Report, type RetryPolicy, type ServerEvent } from '@tributary/client/server-client'
      import { type EventStorage, memoryStorage } from '@tributary/client/storage'
      import { TributaryError } from '@tributary/client/tributary-error'
      const storage: EventStorage = memoryStorage()
      const url = 'https://events.example.com'
      const onRejected = ({ reason }: RejectedEvent): string => reason
      const options: SdkClientOptions = { url, company_key: 'c', app_key: 'a', signing_secret: 's', storage, onRejected }
      const event: SdkEvent = { event_name: 'tap' }
      export const id: Promise<string> = createSdkClient(options).track(event)
      const retry: Partial<RetryPolicy> = { attempts_max: 3 }
      const server = createServerClient({ url, server_key: 'srv_1', retry })
      export const bulk = async (events: ServerEvent[]): Promise<BulkResult | null> =>
        server.sendBulk(events).catch((error: unknown) => {
          if (error instanceof BulkError) console.log(error.results.length)
          if (error instanceof TributaryError) console.log(error.code, error.status)
          return null
        })
      export const report: Promise<Report<'events'>> = server.report('events')
      // @ts-expect-error a backend has to give the install
      export const wrong = server.send({ event_name: 'a', event_ts_ms: 1 })
    `
    writeFileSync(join(project, 'consumer.mts'), consumer)
    const options = `--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --target es2022 --module ${module}`
    const args = [...options.split(' '), '--moduleResolution', resolution, 'consumer.mts']
    expect(await run(tsc, args).catch((error) => error.stdout)).toBe('')
  })

  it('shows programs in its README that compile', async () => {
    const blocks = [...readFileSync(join(copy, 'README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)]
    const given = `declare const install_uuid: string
      declare const events: import('@tributary/client/server-client').ServerEvent[]\n`
    const files = blocks.map(([, block], n) => {
      writeFileSync(join(project, `readme${n}.mts`), given + block)
      return `readme${n}.mts`
    })
    expect(files).toHaveLength(4)
    const options = `--ignoreConfig --noEmit --strict --target es2022 --module nodenext --types node --typeRoots ${root}/node_modules/@types`
    expect(await run(tsc, [...options.split(' '), ...files]).catch((error) => error.stdout)).toBe('')
  })
})
