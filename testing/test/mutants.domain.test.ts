import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findListFault, root } from '../mutants/mutant.ts'
import { mutants } from '../mutants/mutants.ts'

test('each fault can be made: its file has the text once, and its tests are there', () => {
  const faults = mutants.flatMap((mutant) => findListFault(mutant) ?? [])
  const missing = mutants.flatMap(({ tests }) => tests.filter((file) => !existsSync(join(root, file))))
  expect([...faults, ...missing]).toEqual([])
})

test('the tests of each fault have the name that runs alone', () => {
  const unnamed = mutants.filter(({ only, tests }) => {
    return only !== undefined && !tests.some((file) => readFileSync(join(root, file), 'utf8').includes(only))
  })
  expect(unnamed).toEqual([])
})

test('each fault breaks a rule that stands in a document, and has a name of its own', () => {
  const headings = new Map<string, string[]>()
  const headingsOf = (file: string) => {
    const known = headings.get(file) ?? readFileSync(join(root, file), 'utf8').match(/^#+ .*$/gm) ?? []
    headings.set(file, known)
    return known.map((line) => line.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-'))
  }
  const unknown = mutants.filter(({ rule }) => {
    const [file = '', heading] = rule.split('#')
    return !existsSync(join(root, file)) || (heading !== undefined && !headingsOf(file).includes(heading))
  })
  expect(unknown.map(({ rule }) => rule)).toEqual([])
  const names = mutants.map(({ rule, promise }) => `${rule}: ${promise}`)
  expect(names.filter((name, n) => names.indexOf(name) < n)).toEqual([])
})
