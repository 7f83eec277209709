import { expect, test } from 'vitest'
import { comparedNames } from '../src/hours/compared-names.ts'

const object = (key: string | null, received_at_ms: number | null = null) => ({
  ...{ key, received_at_ms },
  read: async () => null,
})
const keys = (objects: readonly { key: string | null }[]) => objects.map(({ key }) => key)
const objects = (...names: string[]) => names.map((key) => object(key))

test('a name is chosen until a look at it has ended', () => {
  const names = comparedNames(10)
  expect(keys(names.begin().choose(objects('a'), 'day'))).toEqual(['a'])
  const look = names.begin()
  expect(keys(look.choose(objects('a', 'b'), 'day'))).toEqual(['a', 'b'])
  look.keep()
  expect(keys(names.begin().choose(objects('a', 'c'), 'day'))).toEqual(['c'])
})

test('an object of which something was left is chosen again', () => {
  const names = comparedNames(10)
  const look = names.begin()
  look.choose(objects('a', 'b'), 'day')
  look.leave('b')
  look.keep()
  expect(keys(names.begin().choose(objects('a', 'b'), 'day'))).toEqual(['b'])
})

test('objects whose names show an hour are chosen by it, and those without a name always', () => {
  const names = comparedNames(10)
  const look = names.begin()
  expect(keys(look.choose([object('a', 1), object(null)], 'day'))).toEqual([null])
  expect(keys(look.choose([object('a', 1)], 'day', 'timed ones too'))).toEqual(['a'])
  look.keep()
  expect(keys(names.begin().choose([object(null)], 'day'))).toEqual([null])
})

test('beyond the bound the largest folder alone is compared again, however often', () => {
  const names = comparedNames(3)
  const run = () => {
    const look = names.begin()
    const chosen = [look.choose(objects('a', 'b'), 'small'), look.choose(objects('c', 'd', 'e'), 'large')].map(keys)
    look.keep()
    return chosen
  }
  expect(run()).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
  for (let n = 0; n < 3; n += 1) expect(run()).toEqual([[], ['c', 'd', 'e']])
})
