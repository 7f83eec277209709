import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { JudgedPostback } from '@tributary/contracts/postback/judged'
import { judgePostback } from '@tributary/domain/postback/judge'
import { withKeySet } from '@tributary/domain/postback/keys'
import {
  aakPayload,
  base64url,
  createAppleTwin,
  development_kid,
  production_kid,
  signJws,
} from '@tributary/testing/postback/apple-twin'
import { type Fields, type JsonValue, writeJson } from '@tributary/testing/postback/json'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const apple = createAppleTwin()
const { p256 } = apple.secrets
const judge = (body: string, keys = apple.keys) => judgePostback({ protocol: 'aak', body }, keys)
const wrap = (jws: string, beside: Fields = {}) => writeJson({ 'jws-string': jws, ...beside })
const header = writeJson({ kid: production_kid, alg: 'ES256' })

describe('An AAK postback', () => {
  it('is valid bare and in the JSON of Apple, and tells what is in it', () => {
    const payload = aakPayload({ 'advertised-item-identifier': 2n ** 63n + 1n })
    const jws = apple.signAak(payload)
    const content = {
      ...{ protocol: 'aak', verdict: 'valid', reason: 'verified', environment: 'production', key: production_kid },
      ...{ version: '', network: 'example123.adattributionkit', postback_id: payload['postback-identifier'] },
      ...{ sequence_index: 0, advertised_item_id: '9223372036854775809', publisher_item_id: '11073802775' },
      ...{ source: '1234', redownload: false, re_engagement: false, did_win: true, fidelity_type: null },
    }
    expect(judge(jws)).toEqual({ ...content, fine: null, coarse: null, country: null })
    const beside = { 'conversion-value': 24, 'coarse-conversion-value': 'low', 'country-code': 'US' }
    const judged = judge(wrap(jws, { ...beside, 'ad-interaction-type': 'click' }))
    expect(judged).toEqual({ ...content, fine: 24, coarse: 'low', country: 'US' })
    expect(JudgedPostback.parse(judged)).toEqual(judged)
    expect(judge(`\n ${jws}\r\n`).verdict).toBe('valid')
  })

  it('is valid with and without each optional field, for each conversion type and sequence index', () => {
    const optional = ['publisher-item-identifier', 'marketplace-identifier', 'impression-type', 'did-win']
    for (const field of [...optional, 'source-identifier', 'conversion-type', 'postback-sequence-index'])
      expect(judge(apple.signAak(aakPayload({ [field]: undefined }))).verdict, field).toBe('valid')
    expect(judge(apple.signAak(aakPayload({ 'did-win': undefined }))).did_win).toBeNull()
    const types: Record<string, object> = {
      download: { redownload: false, re_engagement: false },
      redownload: { redownload: true, re_engagement: false },
      're-engagement': { redownload: null, re_engagement: true },
    }
    for (const [type, said] of Object.entries(types))
      expect(judge(apple.signAak(aakPayload({ 'conversion-type': type })))).toMatchObject({ verdict: 'valid', ...said })
    for (const index of [0, 1, 2])
      expect(judge(apple.signAak(aakPayload({ 'postback-sequence-index': index }))).sequence_index).toBe(index)
  })

  it('is of development under a development key', () => {
    const jws = apple.signAak(aakPayload(), { kid: development_kid, alg: 'ES256' })
    expect(judge(jws)).toMatchObject({ verdict: 'valid', environment: 'development', key: development_kid })
  })

  it('is invalid when any field of its payload is changed, and valid when one beside it is', () => {
    const payload = aakPayload()
    const [head, , signature] = apple.signAak(payload).split('.')
    for (const field of Object.keys(payload)) {
      for (const value of [undefined, null, 'other', 7]) {
        const { [field]: _, ...rest } = payload
        const changed = value === undefined ? rest : { ...rest, [field]: value }
        const forged = `${head}.${base64url(writeJson(changed))}.${signature}`
        expect(judge(wrap(forged)), field).toMatchObject({ verdict: 'invalid', key: null, environment: null })
      }
    }
    const genuine = apple.signAak(payload)
    const { fine, coarse, country, ...proven } = judge(genuine)
    const unsigned: Fields[] = [
      { 'conversion-value': 64 },
      { 'coarse-conversion-value': {} },
      { 'country-code': 'usa' },
      { x: [] },
    ]
    for (const beside of unsigned)
      expect(judge(wrap(genuine, beside))).toEqual({ ...proven, fine: null, coarse: null, country: null })
  })

  it('is invalid when its signed content is of a wrong type, and unverifiable with an unknown conversion type', () => {
    const wrong: Record<string, JsonValue[]> = {
      'postback-identifier': [1, null, 'x'.repeat(257)],
      'ad-network-identifier': [true],
      'advertised-item-identifier': ['1', 1.5, -1, 2n ** 64n],
      'publisher-item-identifier': ['1', {}],
      'source-identifier': [1234],
      'conversion-type': [1],
      'did-win': ['true', 1],
      'postback-sequence-index': [3, '0'],
    }
    for (const [field, values] of Object.entries(wrong))
      for (const value of values)
        expect(judge(apple.signAak(aakPayload({ [field]: value }))).reason).toBe(`wrong_type:${field}`)
    for (const field of ['postback-identifier', 'ad-network-identifier', 'advertised-item-identifier'])
      expect(judge(apple.signAak(aakPayload({ [field]: undefined }))).reason).toBe(`missing_field:${field}`)
    const judged = judge(apple.signAak(aakPayload({ 'conversion-type': 'pre-order' })))
    expect(judged).toMatchObject({ verdict: 'unverifiable', reason: 'unknown_conversion_type' })
  })

  it('takes algorithm and key from Apple, never from its header', () => {
    const payload = writeJson(aakPayload())
    const spki = apple.keys.aak.get(production_kid)!.key
    const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const jwk = stranger.publicKey.export({ format: 'jwk' })
    const hmac = (head: string, secret: string | Buffer) => {
      const signed = `${base64url(head)}.${base64url(payload)}`
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    }
    const hs256 = writeJson({ kid: production_kid, alg: 'HS256' })
    const none = writeJson({ kid: production_kid, alg: 'none' })
    const refused: Record<string, string[]> = {
      wrong_algorithm: [
        `${base64url(none)}.${base64url(payload)}.`,
        signJws(none, payload, p256),
        hmac(hs256, spki.export({ format: 'pem', type: 'spki' })),
        hmac(hs256, spki.export({ format: 'der', type: 'spki' })),
        ...['es256', 'ES384', 'ES256K', '', null, ['ES256']].map((alg) =>
          signJws(writeJson({ kid: production_kid, alg }), payload, p256),
        ),
        signJws(writeJson({ kid: production_kid }), payload, p256),
      ],
      critical_header: [
        signJws(writeJson({ kid: production_kid, alg: 'ES256', b64: false, crit: ['b64'] }), payload, p256),
      ],
      signature_mismatch: [
        signJws(header, payload, stranger.privateKey),
        signJws(header, payload, apple.secrets.development),
        signJws(writeJson({ kid: development_kid, alg: 'ES256' }), payload, p256),
        signJws(writeJson({ kid: production_kid, alg: 'ES256', jwk: jwk as Fields }), payload, stranger.privateKey),
        hmac(header, spki.export({ format: 'pem', type: 'spki' })).replace(
          /[^.]*$/,
          Buffer.alloc(64).toString('base64url'),
        ),
      ],
      signature_encoding: [
        derJws(payload),
        `${base64url(header)}.${base64url(payload)}.`,
        hmac(header, spki.export({ format: 'pem', type: 'spki' })),
      ],
      duplicate_field: [signJws(`{"alg":"none","kid":"x",${header.slice(1)}`, payload, p256)],
      'missing_field:kid': [signJws('{"alg":"ES256"}', payload, p256)],
      'wrong_type:kid': [signJws('{"alg":"ES256","kid":["apple-cas-identifier/0"]}', payload, p256)],
    }
    for (const [reason, list] of Object.entries(refused))
      for (const jws of list) {
        const said = { network: 'example123.adattributionkit', advertised_item_id: '10738027756' }
        expect(judge(jws), jws).toMatchObject({ verdict: 'invalid', reason, key: null, environment: null, ...said })
      }
    const kids = ['apple-cas-identifier/1', 'APPLE-CAS-IDENTIFIER/0', '../apple-cas-identifier/0', '__proto__', '', ' ']
    for (const kid of kids)
      expect(judge(signJws(writeJson({ kid, alg: 'ES256' }), payload, p256))).toMatchObject({
        ...{ verdict: 'unverifiable', reason: 'unknown_key', key: null, environment: null },
      })
  })

  it('compares the kid after parsing: a slash may be escaped', () => {
    for (const kid of ['apple-cas-identifier/0', 'apple-cas-identifier\\/0', '\\u0061pple-cas-identifier\\u002f0'])
      expect(judge(signJws(`{"alg":"ES256","kid":"${kid}"}`, writeJson(aakPayload()), p256)).verdict).toBe('valid')
  })

  it('is invalid when it is no JWS of JSON objects', () => {
    const jws = apple.signAak(aakPayload())
    const [head = '', payload = '', signature = ''] = jws.split('.')
    const padded = signature.replace(/.$/, (last) =>
      last === 'A' ? 'B' : last === 'Q' ? 'R' : last === 'g' ? 'h' : 'x',
    )
    const texts = ['', 'a', 'a.b', `${head}.${payload}`, `${jws}.`, `${jws}.x`, `${head}=.${payload}.${signature}`]
    const more = [
      `${head}.${payload}.${padded}`,
      `${head}.${payload}\n.${signature}`,
      ` ${head} .${payload}.${signature}`,
    ]
    const parts = ['[]', 'null', '{', '', '"x"', '{"a":[[[[[[[[[1]]]]]]]]]}']
    const wrongs = parts.flatMap((part) => [signJws(part, writeJson(aakPayload()), p256), signJws(header, part, p256)])
    const utf8 = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')
    for (const text of [...texts, ...more, ...wrongs, `${head}.${utf8}.${signature}`]) {
      expect(judge(text), text).toMatchObject({ verdict: 'invalid', reason: 'bad_jws' })
      expect(judge(wrap(text)), text).toMatchObject({ verdict: 'invalid', reason: 'bad_jws' })
    }
    expect(judge('{}').reason).toBe('missing_field:jws-string')
    expect(judge('{"jws-string":1}').reason).toBe('wrong_type:jws-string')
    expect(judge('{').reason).toBe('bad_json')
    expect(judge(`{"jws-string":"a.b.c",${wrap(jws).slice(1)}`).reason).toBe('duplicate_field')
    expect(judge(wrap(jws + 'x'.repeat(70_000))).reason).toBe('too_large')
  })

  it('never throws, and is never valid with other signed content, whatever bytes are changed', () => {
    const genuine = wrap(apple.signAak(aakPayload()), { 'conversion-value': 1 })
    const { fine: _fine, coarse: _coarse, country: _country, ...proven } = judge(genuine)
    const edit = fc.tuple(fc.nat(genuine.length), fc.nat(3), fc.string({ unit: 'binary', maxLength: 3 }))
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 3 }), (edits) => {
        const judged = judge(
          edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), genuine),
        )
        JudgedPostback.parse(judged)
        if (judged.verdict === 'valid') expect(judged).toMatchObject(proven)
      }),
      { numRuns: 2000 },
    )
  })
})

/** Signed as SKAN is. */
function derJws(payload: string): string {
  const signed = `${base64url(header)}.${base64url(payload)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), p256).toString('base64url')}`
}

describe('A key set', () => {
  const later = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const jwk = { ...later.publicKey.export({ format: 'jwk' }), kid: 'apple-cas-identifier/1' }
  const jws = signJws(writeJson({ kid: jwk.kid, alg: 'ES256' }), writeJson(aakPayload()), later.privateKey)

  it('proves postbacks of its keys as production', () => {
    const keys = withKeySet(apple.keys, { keys: [jwk] })!
    expect(judge(jws, keys)).toMatchObject({ verdict: 'valid', environment: 'production', key: jwk.kid })
    expect(keys.fingerprint).not.toBe(apple.keys.fingerprint)
    expect(withKeySet(apple.keys, { keys: [] })!.fingerprint).toBe(apple.keys.fingerprint)
  })

  it('never replaces a pinned key', () => {
    const keys = withKeySet(apple.keys, { keys: [{ ...jwk, kid: production_kid }] })!
    expect(keys.fingerprint).toBe(apple.keys.fingerprint)
    const forged = signJws(header, writeJson(aakPayload()), later.privateKey)
    expect(judge(forged, keys).reason).toBe('signature_mismatch')
  })

  it('leaves out keys of other kinds, and is null when it is none', () => {
    const p384 = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).publicKey.export({ format: 'jwk' })
    const secret = { kty: 'oct', k: 'AAAA', kid: 'oct', alg: 'ES256' }
    const others = [
      { ...jwk, use: 'enc' },
      { ...jwk, alg: 'ES384' },
      { ...jwk, kid: 7 },
      { ...jwk, x: 'AAAA' },
      null,
      'x',
    ]
    const set = withKeySet(apple.keys, { keys: [{ ...p384, kid: 'p384' }, secret, ...others] })!
    expect([...set.aak.keys()].sort()).toEqual([...apple.keys.aak.keys()].sort())
    for (const document of [null, [], 'x', {}, { keys: {} }]) expect(withKeySet(apple.keys, document)).toBeNull()
  })
})
