import { expect, it } from 'vitest'
import { byRing } from '../runner/ring-order.ts'

it('rings with short files come last, and the files of a ring keep their order', () => {
  const files = ['contract', 'domain', 'clickhouse', 'whole', 'service', 'clickhouse', 'failure'].map((name, n) => ({
    project: { name },
    n,
  }))
  expect(byRing(files).map(({ project, n }) => `${project.name} ${n}`)).toEqual([
    ...['clickhouse 2', 'clickhouse 5', 'failure 6', 'whole 3', 'contract 0', 'service 4', 'domain 1'],
  ])
})
