import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judgePostback } from '@tributary/domain/postback/judge'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../../../../examples/postbacks')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const judge = (body: string, key?: string) => judgePostback({ protocol: 'skan', body }, applePostbackKeys(key))
const test_key = read('test-key.txt').trim()

describe.each(['2.2', '3.0', '4.0'])('the sample of SKAN %s', (version) => {
  const body = read(`skan-${version}.json`)

  it('is unverifiable, and valid of a development key where the test key is set', () => {
    expect(judge(body)).toMatchObject({ verdict: 'unverifiable', reason: 'unknown_key', key: null, version, fine: 20 })
    expect(judge(body, test_key)).toMatchObject({ verdict: 'valid', key: 'test-key', environment: 'development' })
  })

  it('proves nothing that it does not say, and nothing of another network', () => {
    const changed = (changes: object) => JSON.stringify({ ...JSON.parse(body), ...changes })
    const forged = [changed({ 'app-id': 525463029 }), changed({ 'ad-network-id': 'example123.skadnetwork' })]
    for (const one of forged)
      expect(judge(one, test_key)).toMatchObject({ verdict: 'invalid', reason: 'signature_mismatch' })
    expect(judge(forged[1]!)).toMatchObject({ verdict: 'invalid', reason: 'signature_mismatch' })
  })
})

it('keys with the test key are other keys: what was unverifiable is judged again', () => {
  expect(applePostbackKeys(test_key).fingerprint).not.toBe(applePostbackKeys().fingerprint)
})
