import { expect, test } from 'vitest'
import { comparedNames } from '../src/compared-names.ts'

const object = (key: string | null, received_at_ms: number | null = null) => ({
  ...{ key, received_at_ms },
  read: async () => null,
})
const keys = (objects: readonly { key: string | null }[]) => objects.map(({ key }) => key)

test('a name is chosen until a look at it has ended', () => {
  const names = comparedNames(10)
  expect(keys(names.begin().choose([object('a')]))).toEqual(['a'])
  const look = names.begin()
  expect(keys(look.choose([object('a'), object('b')]))).toEqual(['a', 'b'])
  look.keep()
  expect(keys(names.begin().choose([object('a'), object('c')]))).toEqual(['c'])
})

test('objects whose names show an hour are chosen by it, and those without a name always', () => {
  const names = comparedNames(10)
  const look = names.begin()
  expect(keys(look.choose([object('a', 1), object(null)]))).toEqual([null])
  expect(keys(look.choose([object('a', 1)], 'timed ones too'))).toEqual(['a'])
  look.keep()
  expect(keys(names.begin().choose([object(null)]))).toEqual([null])
})

test('beyond the bound all names are forgotten, and compared again', () => {
  const names = comparedNames(2)
  for (const some of [['a', 'b'], ['c']]) {
    const look = names.begin()
    look.choose(some.map((key) => object(key)))
    look.keep()
  }
  expect(keys(names.begin().choose(['a', 'b', 'c'].map((key) => object(key))))).toEqual(['a', 'b'])
})
