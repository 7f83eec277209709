import type { KeyObject } from 'node:crypto'
import { judgePostback } from '@tributary/domain/postback/judge'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { hasAppleSamples, readAppleSample } from '@tributary/testing/postback/apple-samples'
import type { Fields } from '@tributary/testing/postback/json'
import { describe, expect, it } from 'vitest'

const keys = applePostbackKeys()
const read = (file: string) => readAppleSample(file).toString()

describe.skipIf(!hasAppleSamples())('Samples of Apple', () => {
  it('verify with the keys of this release: SKAN', () => {
    const { vectors } = JSON.parse(read('skan-apple-samples.json')) as { vectors: { postback: Fields }[] }
    expect(vectors.length).toBeGreaterThan(0)
    for (const { postback } of vectors) {
      const judged = judgePostback({ protocol: 'skan', body: JSON.stringify(postback) }, keys)
      expect(judged).toMatchObject({ verdict: 'valid', environment: 'production', version: postback.version })
      expect(judged).toMatchObject({ fine: postback['conversion-value'], advertised_item_id: `${postback['app-id']}` })
      const later = JSON.stringify({ ...postback, 'app-id': 1 })
      expect(judgePostback({ protocol: 'skan', body: later }, keys).reason).toBe('signature_mismatch')
    }
  })

  it('verify with the keys of this release: AAK, as JSON and bare', () => {
    const { vectors } = JSON.parse(read('aak-apple-sample.json')) as { vectors: { body: Fields }[] }
    const bodies = [...vectors.map(({ body }) => JSON.stringify(body)), read('body-aak-dev.jwt')]
    for (const body of bodies) {
      const judged = judgePostback({ protocol: 'aak', body }, keys)
      const said = { verdict: 'valid', environment: 'development', key: 'apple-development-identifier/1' }
      expect(judged).toMatchObject({ ...said, advertised_item_id: '10738027756', re_engagement: true })
    }
  })

  it('name the keys that are pinned here', () => {
    const { skan, aak } = JSON.parse(read('apple-keys.json')) as Record<string, Record<string, string>>
    const spki = (key: KeyObject | null | undefined) => key?.export({ format: 'der', type: 'spki' }).toString('base64')
    const pinned = new Set([...keys.skan.values()].map(({ key }) => spki(key)))
    expect(pinned).toEqual(new Set(Object.values(skan ?? {})))
    expect(Object.fromEntries([...keys.aak].map(([kid, { key }]) => [kid, spki(key)]))).toEqual(aak)
  })
})

it('verifies both curves with the OpenSSL of this Node.js', () => {
  expect([...keys.skan].filter(([, { key }]) => key === null)).toEqual([])
})
