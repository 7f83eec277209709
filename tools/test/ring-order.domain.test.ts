import { expect, it } from 'vitest'
import { byRing } from '../runner/ring-order.ts'

const file = (name: string, moduleId: string) => ({ project: { name }, moduleId })

it('rings with short files come last, and the files of a ring keep their order', () => {
  const rings = ['contract', 'domain', 'clickhouse', 'whole', 'service', 'prove', 'clickhouse', 'failure']
  const files = rings.map((name, n) => file(name, `${n}`))
  expect(byRing(files).map(({ project, moduleId }) => `${project.name} ${moduleId}`)).toEqual([
    ...['clickhouse 2', 'clickhouse 6', 'failure 7', 'whole 3', 'contract 0', 'service 4', 'domain 1', 'prove 5'],
  ])
})

it('files with a browser are spread among the others of their ring, each file once', () => {
  const names = ['packages/panel/test/a.whole.test.ts', 'packages/panel/test/b.whole.test.ts', 'c', 'd', 'e']
  expect(byRing(names.map((name) => file('whole', name))).map(({ moduleId }) => moduleId)).toEqual([
    ...[names[0], 'c', 'd', names[1], 'e'],
  ])
})
