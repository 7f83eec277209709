import { globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const adapters = ['broker', 'clickhouse', 'postgres', 'key-value', 'audit-store', 'geo', 'stores']
const libraries = [
  'contracts',
  'domain',
  'client',
  'service-kit',
  'tenancy',
  'tables',
  'erasure',
  'audited',
  'deciding',
  'gateway',
  'admin-http',
  'api-docs',
  'panel',
  ...adapters,
]

interface Workspace {
  name: string
  folder: string
  exports: Record<string, string>
}

const workspaces: Workspace[] = globSync(
  ['packages/*/package.json', 'services/{*,*/*}/package.json', 'testing/{.,stories}/package.json'],
  {
    cwd: root,
  },
).map((file) => {
  const { name, exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8'))
  return { name: basename(name), folder: dirname(file), exports }
})
const find = (name: string) => workspaces.find((workspace) => workspace.name === name)

const services = workspaces.filter(({ folder }) => folder.startsWith('services/')).map(({ name }) => name)
/** The services that a process runs as its parts lie in its folder. */
const partsOf = (process: string) =>
  workspaces.filter(({ folder }) => folder.startsWith(`services/${process}/`)).map(({ name }) => name)

/** The workspaces that the `src` of each workspace may import (CONTRIBUTING.md "Which way imports point"). */
const allowed: Record<string, string[]> = {
  contracts: [],
  domain: ['contracts'],
  client: ['contracts'],
  'api-docs': ['contracts'],
  panel: ['contracts'],
  ...Object.fromEntries(adapters.map((adapter) => [adapter, ['contracts']])),
  'service-kit': ['contracts', 'domain', ...adapters],
  tenancy: ['contracts', 'domain', 'postgres', 'key-value', 'service-kit', 'stores'],
  tables: ['contracts', 'domain', 'audit-store', 'broker', 'clickhouse', 'postgres', 'service-kit'],
  erasure: ['contracts', 'domain', 'tables', 'audit-store', 'broker', 'postgres', 'service-kit', 'tenancy'],
  audited: [
    'contracts',
    'domain',
    'audit-store',
    'broker',
    'clickhouse',
    'gateway',
    'service-kit',
    'tables',
    'tenancy',
  ],
  deciding: ['contracts', 'domain', 'clickhouse', 'geo', 'service-kit', 'tables', 'tenancy'],
  gateway: ['contracts', 'domain', 'broker', 'audit-store', 'key-value', 'service-kit', 'tenancy'],
  'admin-http': ['contracts', 'domain', 'postgres', 'service-kit', 'tenancy'],
  cli: libraries,
  ...Object.fromEntries(services.map((service) => [service, [...libraries, ...partsOf(service)]])),
  standalone: [...libraries, ...services],
}

/** A folder with more files needs sub-folders. */
const folder_files_max = 14

interface Import {
  file: string
  workspace: string
  specifier: string
  /** The imported file; undefined when it is outside of the project or not exported by its workspace. */
  target: string | undefined
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules'))
    .map((file) => join(folder, file))

function importsOf({ name, folder }: Workspace): Import[] {
  const inner = workspaces.filter((one) => one.folder.startsWith(`${folder}/`))
  const own = filesOf(folder).filter((file) => !inner.some((one) => file.startsWith(`${one.folder}/`)))
  return own.flatMap((file) => {
    const found = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^'\n]+)'/g)
    return [...found].map(([, specifier = '']) => {
      if (specifier.startsWith('.')) return { file, workspace: name, specifier, target: join(dirname(file), specifier) }
      const [, other = '', ...path] = specifier.split('/')
      const to = specifier.startsWith('@tributary/') ? find(other) : undefined
      const exported = to?.exports[`./${path.join('/')}`]
      const target = exported === undefined ? undefined : join(to!.folder, exported)
      return { file, workspace: name, specifier, target }
    })
  })
}

const imports = workspaces.flatMap(importsOf)
const isTest = (file: string) => file.includes('/test/') || file.startsWith('testing/')
const internal = imports.filter(({ specifier }) => specifier.startsWith('@tributary/'))

/** The files of one circle of imports, or null. Imports of types count too. */
function findCircle(): string[] | null {
  const next = Map.groupBy(
    imports.filter(({ file, target }) => target !== undefined && !isTest(file)),
    ({ file }) => file,
  )
  const done = new Set<string>()
  const walk = (file: string, path: string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return null
    for (const { target } of next.get(file) ?? []) {
      const circle = walk(target!, [...path, file])
      if (circle !== null) return circle
    }
    done.add(file)
    return null
  }
  for (const file of next.keys()) {
    const circle = walk(file, [])
    if (circle !== null) return circle
  }
  return null
}

describe('imports', () => {
  it('are found by this test', () => {
    expect(internal.length).toBeGreaterThan(500)
    expect(
      workspaces.filter(({ name }) => !['testing', 'stories'].includes(name) && allowed[name] === undefined),
    ).toEqual([])
  })

  it('point from services to libraries to contracts, never back and never sideways', () => {
    const wrong = internal.filter(({ file, workspace, specifier }) => {
      const target = specifier.split('/')[1] ?? ''
      return target !== workspace && !isTest(file) && !allowed[workspace]?.includes(target)
    })
    expect(wrong).toEqual([])
  })

  it('reach another workspace only through its exports', () => {
    const deep = internal.filter(({ target }) => target === undefined)
    const climbing = imports.filter(({ specifier, target, workspace }) => {
      return specifier.startsWith('.') && relative(find(workspace)!.folder, target!).startsWith('..')
    })
    expect({ deep, climbing }).toEqual({ deep: [], climbing: [] })
  })

  it('form no circle', () => {
    expect(findCircle()).toBeNull()
  })

  it('read the environment where a service is run, and where a command is', () => {
    const readers = ['packages', 'services', 'testing']
      .flatMap(filesOf)
      .filter((file) => file.includes('/src/') && readFileSync(join(root, file), 'utf8').includes('process.env'))
    expect(readers.sort()).toEqual(['packages/cli/src/config.ts', 'packages/service-kit/src/service/run-service.ts'])
  })
})

describe('rooms', () => {
  it(`hold no more than ${folder_files_max} files each`, () => {
    const code = ['packages', 'services', 'testing', 'tools', 'infra', 'bench', 'examples'].flatMap(filesOf)
    const rooms = Map.groupBy(code, dirname)
    const full = [...rooms].map(([room, files]) => `${room}: ${files.length}`)
    expect(full.filter((room) => Number(room.split(': ')[1]) > folder_files_max)).toEqual([])
  })
})
