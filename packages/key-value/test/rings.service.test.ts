import { openRings } from '@tributary/key-value/rings'
import { describe, expect, it, onTestFinished } from 'vitest'

const day_ms = 24 * 3600 * 1000

function openShown() {
  let passed_ms = 0
  const rings = openRings(() => 1_800_000_000_000 + passed_ms)
  onTestFinished(() => rings.close())
  const append = (key: string, text: string) => rings.append(key, text, 256, day_ms)
  const textsOf = async (key: string) => (await rings.read(key, 0, 256)).texts
  const pass = (ms: number) => {
    passed_ms += ms
  }
  return { append, textsOf, pass }
}

describe('rings in memory', () => {
  it('keep refusals while feeds overflow', async () => {
    const { append, textsOf } = openShown()
    await append('refusals:small:code', 'kept')
    for (let n = 0; n < 300; n += 1) await append(`live:large_${n % 3}`, 'x'.repeat(100_000))
    expect(await textsOf('refusals:small:code')).toEqual(['kept'])
  })

  it('lose those of the app that has most when they overflow', async () => {
    const { append, textsOf } = openShown()
    await append('refusals:small:code', 'kept')
    for (let n = 0; n < 300; n += 1) await append(`refusals:large:${n}`, 'x'.repeat(100_000))
    expect(await textsOf('refusals:small:code')).toEqual(['kept'])
    expect(await textsOf('refusals:large:0')).toEqual([])
    expect(await textsOf('refusals:large:299')).toHaveLength(1)
  })

  it('show what they keep after the clock was set back, and end it once its time is over', async () => {
    const { append, textsOf, pass } = openShown()
    await append('refusals:app:code', 'a')
    pass(-3600_000)
    expect(await textsOf('refusals:app:code')).toEqual(['a'])
    pass(day_ms)
    expect(await textsOf('refusals:app:code')).toEqual([])
  })
})
