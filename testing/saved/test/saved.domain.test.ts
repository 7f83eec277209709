import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stories } from '../make/stories.ts'
import { readHistory } from '../replay.ts'

it.each([...stories])('the saved history %s is what its story writes', (name, write) => {
  expect(readHistory(name)).toEqual(JSON.parse(JSON.stringify(write())))
})

it('each history has an outcome', () => {
  const files = (folder: string) => readdirSync(join(import.meta.dirname, '..', folder)).toSorted()
  expect(files('outcomes')).toEqual(files('histories'))
  expect(files('histories')).toEqual([...stories.keys()].map((name) => `${name}.jsonl`).toSorted())
})
