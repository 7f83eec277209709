import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPartition } from '@tributary/broker/partition'
import { describe, expect, test } from 'vitest'

const example = join(import.meta.dirname, '..')
const root = join(example, '..', '..')
const page = readFileSync(join(root, 'docs', 'consumers.md'), 'utf8')
const read = (file: string) => readFileSync(join(example, file), 'utf8')
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code]) => code)

/** The table of installs and their partitions. */
const places = [...page.matchAll(/^\| `(app_\w+)` +\| `([\w-]+)` +\| (\d+) +\|$/gm)].map(
  ([, app_id = '', install_uuid = '', partition]) => ({ app_id, install_uuid, partition: Number(partition) }),
)

describe('docs/consumers.md', () => {
  test('shows the example as it is, in a file of at most 40 lines', () => {
    expect(blocksOf('ts')).toEqual([read('purchase-alerts.ts'), read('service.ts'), read('main.ts')])
    expect(blocksOf('json')).toEqual([read('package.json')])
    expect(read('purchase-alerts.ts').trimEnd().split('\n').length).toBeLessThanOrEqual(40)
  })

  test('names every field of a batch', () => {
    const kit = readFileSync(join(root, 'packages/service-kit/src/consumer/define-consumer.ts'), 'utf8')
    const [, batch = ''] = /^export interface Batch<T> \{\n(.*?)^\}/ms.exec(kit) ?? []
    const fields = [...batch.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, name]) => name)
    const [, rows = ''] = /^\| Field .*?\n((?:\|.*\n)+)/m.exec(page) ?? []
    const named = [...rows.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)/g)])
    expect(named.map(([, name]) => name).toSorted()).toEqual(fields.toSorted())
  })

  test('changes files of the product at places that are there, once each', () => {
    const changes = blocksOf('diff').map((block = '') => block.trimEnd().split('\n'))
    expect(changes.length).toBeGreaterThan(3)
    for (const [head = '', ...lines] of changes) {
      const place = lines.filter((line) => !line.startsWith('+')).map((line) => `${line.slice(1)}\n`)
      const file = readFileSync(join(root, head.slice('--- '.length)), 'utf8')
      expect(file.split(place.join('')), head).toHaveLength(2)
    }
  })

  test('gives partitions as the code computes them', () => {
    expect(places).toHaveLength(3)
    for (const { app_id, install_uuid, partition } of places) {
      expect(installPartition(app_id, install_uuid, 12)).toBe(partition)
    }
  })

  const python = spawnSync('python3', ['--version']).status === 0
  test.skipIf(!python)('has a partition rule in Python that agrees with the code', () => {
    const [rule] = blocksOf('python')
    const asks = places.map(({ app_id, install_uuid }) => `print(install_partition("${app_id}", "${install_uuid}"))`)
    const { stdout, stderr } = spawnSync('python3', ['-c', [rule, ...asks].join('\n')], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n').map(Number)).toEqual(places.map(({ partition }) => partition))
  })
})
