import { expect, test } from 'vitest'
import { createUnsignedBodies, type UnsignedBody } from '../src/bodies/unsigned-bodies.ts'

const kib = 1024
const bytes_max = 16 * kib * kib

/** The memory with bodies that come and are ended. */
function open() {
  let now_ms = 0
  const memory = createUnsignedBodies(bytes_max, () => now_ms)
  const ended = new Set<string>()
  function begin(name: string, address: string, app: string | null) {
    const body: UnsignedBody = {
      ...{ bytes: 0, holders: [address], app, cost: 0, counted_at_ms: 0 },
      evict: () => {
        ended.add(name)
        memory.give(body)
      },
    }
    return body
  }
  return {
    memory,
    ended,
    begin,
    pass: (ms: number) => {
      now_ms += ms
    },
    /** Bodies of `bytes` of an app, one for each of many addresses. */
    hold(count: number, bytes: number, app: string) {
      for (let n = 0; n < count; n += 1) memory.take(begin(`${app} ${n}`, `${app} address ${n}`, app), bytes)
    },
  }
}

test('who comes takes the place of bodies that are held back, whatever their addresses', () => {
  const { memory, ended, begin, hold, pass } = open()
  hold(250, 512 * kib, 'attacked')
  pass(1000)
  for (let n = 0; n < 1000; n += 1) {
    const body = begin(`victim ${n}`, `address ${n % 7}`, 'victim')
    for (let part = 0; part < 4; part += 1) {
      expect(memory.take(body, 16 * kib)).toBe(true)
      pass(5)
    }
    memory.pin(body)
    memory.give(body)
  }
  expect([...ended].filter((name) => name.startsWith('victim'))).toEqual([])
})

test('bodies of an ordinary size are taken when they hold the keys of the same app, as long as they arrive at once', () => {
  const { memory, ended, begin, hold, pass } = open()
  hold(8000, 2 * kib, 'victim')
  pass(1000)
  for (let n = 0; n < 100; n += 1) {
    const body = begin(`phone ${n}`, `phone ${n}`, 'victim')
    for (let part = 0; part < 4; part += 1) {
      expect(memory.take(body, 16 * kib)).toBe(true)
      hold(8, 2 * kib, 'victim')
      pass(50)
    }
    memory.pin(body)
    memory.give(body)
  }
  expect([...ended].filter((name) => name.startsWith('phone'))).toEqual([])
})

test('a large body of another app may arrive slowly while those of one app fill the memory again and again', () => {
  const { memory, ended, begin, hold, pass } = open()
  const slow = begin('slow', 'phone', 'victim')
  for (let part = 0; part < 64; part += 1) {
    expect(memory.take(slow, 16 * kib)).toBe(true)
    hold(part === 0 ? 100 : 5, 256 * kib, 'attacked')
    pass(250)
  }
  expect(ended.has('slow')).toBe(false)
})

test('one address has half at most: its new bodies take the place of its own', () => {
  const { memory, ended, begin, pass } = open()
  for (let n = 0; n < 40; n += 1) {
    expect(memory.take(begin(`crowd ${n}`, 'crowd', 'app'), 512 * kib)).toBe(true)
    pass(10)
  }
  expect(memory.take(begin('other', 'other', 'app'), 7 * kib * kib)).toBe(true)
  expect(ended.has('other')).toBe(false)
  expect(ended.size).toBeGreaterThan(20)
})

test('bodies that have arrived whole stay, and those that come are refused when there is nothing else', () => {
  const { memory, ended, begin } = open()
  const whole = ['a', 'b'].map((name) => {
    const body = begin(name, name, null)
    expect(memory.take(body, bytes_max / 2)).toBe(true)
    memory.pin(body)
    return body
  })
  expect(memory.hasRoom(['c'])).toBe(false)
  expect(memory.take(begin('c', 'c', 'app'), 1)).toBe(false)
  memory.give(whole[0]!)
  expect(memory.take(begin('c', 'c', 'app'), 1)).toBe(true)
  expect(memory.hasRoom(['b'])).toBe(false)
  expect(ended.size).toBe(0)
})

test('a body that costs most is refused itself', () => {
  const { memory, ended, begin, hold, pass } = open()
  const own = begin('own', 'own', 'app')
  expect(memory.take(own, 1000 * kib)).toBe(true)
  pass(20_000)
  hold(15, 1000 * kib, 'other')
  expect(memory.take(own, 900 * kib)).toBe(false)
  expect(ended.size).toBe(0)
})
