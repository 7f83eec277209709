import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const adapters = ['broker', 'clickhouse', 'postgres', 'key-value', 'audit-store']
const services = readdirSync(join(root, 'services'))

/** What a workspace may import from the others in its `src` (docs: CONTRIBUTING.md "Which way imports point"). */
function allowed(workspace: string): string[] {
  if (workspace === 'contracts') return []
  if (workspace === 'domain' || workspace === 'client' || adapters.includes(workspace)) return ['contracts']
  if (workspace === 'service-kit') return ['contracts', ...adapters]
  if (workspace === 'api-docs') return ['contracts']
  const libraries = ['contracts', 'domain', 'client', 'service-kit', 'api-docs', ...adapters]
  if (workspace === 'standalone') return [...libraries, ...services]
  if (workspace === 'testkit') return libraries
  return libraries
}

interface Import {
  file: string
  workspace: string
  specifier: string
}

function importsOf(folder: string): Import[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules'),
  )
  return files.flatMap((file) => {
    const path = join(root, folder, file)
    const workspace = file.split('/')[0] ?? ''
    const found = readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)
    return [...found].map(([, specifier]) => ({ file: relative(root, path), workspace, specifier: specifier ?? '' }))
  })
}

const imports = [...importsOf('packages'), ...importsOf('services')]
const internal = imports.filter(({ specifier }) => specifier.startsWith('@tributary/'))

describe('which way imports point', () => {
  it('finds the imports that it judges', () => {
    expect(internal.length).toBeGreaterThan(50)
  })

  it('points from services to libraries to contracts, never back and never sideways', () => {
    const wrong = internal.filter(({ file, workspace, specifier }) => {
      const target = specifier.split('/')[1] ?? ''
      if (target === workspace || file.includes('/test/')) return false
      return !allowed(workspace).includes(target)
    })
    expect(wrong).toEqual([])
  })

  it('lets only tests import the testkit', () => {
    const wrong = internal.filter(
      ({ file, workspace, specifier }) =>
        specifier.startsWith('@tributary/testkit') && !file.includes('/test/') && workspace !== 'testkit',
    )
    expect(wrong).toEqual([])
  })

  it('reaches another workspace only through what that one exports', () => {
    const exportsOf = (name: string): string[] => {
      const folder = services.includes(name) ? 'services' : 'packages'
      return Object.keys(JSON.parse(readFileSync(join(root, folder, name, 'package.json'), 'utf8')).exports)
    }
    const deep = internal.filter(({ specifier }) => {
      const [, name = '', ...rest] = specifier.split('/')
      return !exportsOf(name).includes(`./${rest.join('/')}`)
    })
    const climbing = imports.filter(({ file, specifier }) => {
      const own = file.split('/').slice(0, 2).join('/')
      const target = join(file, '..', specifier)
      if (file.includes('/test/') && /^infra\/(engines|fleet)\//.test(target)) return false
      return specifier.startsWith('.') && !target.startsWith(own)
    })
    expect({ deep, climbing }).toEqual({ deep: [], climbing: [] })
  })

  it('reads the environment in config.ts alone', () => {
    const sources = ['packages', 'services'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && file.includes('/src/') && !file.includes('node_modules'))
        .map((file) => join(root, folder, file)),
    )
    const readers = sources.filter((file) => readFileSync(file, 'utf8').includes('process.env'))
    const wrong = readers
      .map((file) => relative(root, file))
      .filter((file) => {
        return !file.endsWith('/config.ts') && !file.startsWith('packages/testkit/')
      })
    expect(wrong).toEqual([])
  })
})
