import { generateKeyPairSync, sign } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { JudgedPostback } from '@tributary/contracts/postback/judged'
import { judgePostback } from '@tributary/domain/postback/judge'
import { postbackKeys } from '@tributary/domain/postback/keys'
import {
  createAppleTwin,
  type SkanVersion,
  signedOrder,
  signedText,
  skanFields,
  skanVersions,
} from '@tributary/testing/postback/apple-twin'
import { type Fields, type JsonValue, writeJson } from '@tributary/testing/postback/json'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const apple = createAppleTwin()
const judge = (body: string, keys = apple.keys) => judgePostback({ protocol: 'skan', body }, keys)
const judgeFields = (fields: Fields) => judge(writeJson(fields))

/** A postback of the version with each optional part that it may have. */
const variants = (version: SkanVersion): Fields[] => {
  const sources = [{}, { 'source-app-id': 1_234_567_891 }, { 'source-domain': 'example.com' }]
  const signsDomain = version === '4.0'
  const signs = signedOrder[version].includes('source-app-id') ? sources.slice(0, signsDomain ? 3 : 2) : [{}]
  const values = [{ 'conversion-value': undefined }, {}, { 'coarse-conversion-value': 'high' }]
  return signs.flatMap((source) => values.map((value) => skanFields(version, { ...source, ...value })))
}

describe.each(skanVersions)('SKAN %s', (version) => {
  const signed = signedOrder[version].split(' ')
  const full = skanFields(version, version === '1.0' ? {} : { 'source-app-id': 1_234_567_891 })
  const genuine = apple.signSkan(version, full)

  it('is valid with and without each optional field', () => {
    for (const fields of variants(version)) {
      const judged = judgeFields(apple.signSkan(version, fields))
      expect(judged, writeJson(fields)).toMatchObject({ verdict: 'valid', reason: 'verified', version })
      expect(judged).toMatchObject({ postback_id: fields['transaction-id'], environment: 'production' })
      expect(judged.key).toBe(version < '2.1' ? 'skan-p192' : 'skan-p256')
      expect(JudgedPostback.parse(judged)).toEqual(judged)
    }
  })

  it('is invalid when a signed field is changed, removed, of another type, or holds a separator', () => {
    for (const [name, value] of Object.entries(full)) {
      if (!signed.includes(name)) continue
      const others: (JsonValue | undefined)[] = [
        other(value),
        undefined,
        null,
        [value],
        `${value}\u2063`,
        otherType(value),
      ]
      for (const changed of others) {
        const { [name]: _, ...rest } = genuine
        const { verdict } = judgeFields(changed === undefined ? rest : { ...rest, [name]: changed })
        const is_unknown = name === 'version' && changed === other(value)
        expect(verdict, `${name}: ${changed}`).toBe(is_unknown ? 'unverifiable' : 'invalid')
      }
    }
  })

  it('is invalid without a required field, and with a separator in a value, also when that is signed', () => {
    for (const name of signed) {
      if (name === 'version' || name.startsWith('source-app') || name.startsWith('source-domain')) continue
      const without = apple.signSkan(version, skanFields(version, { [name]: undefined }))
      expect(judgeFields(without).reason).toBe(`missing_field:${name}`)
      if (typeof full[name] !== 'string') continue
      const divided = apple.signSkan(version, skanFields(version, { [name]: `a\u2063${full[name]}` }))
      expect(judgeFields(divided).reason).toBe(`separator_in_value:${name}`)
    }
  })

  it('stays valid when a field that is not signed is changed or added', () => {
    const { verdict, fine, coarse, country, ...content } = judgeFields(genuine)
    const unsigned = { 'conversion-value': 63, 'coarse-conversion-value': 'low', 'country-code': 'DE', other: [{}] }
    const later = { 'did-win': false, 'postback-sequence-index': 2, 'source-identifier': '77', 'fidelity-type': 'x' }
    const ignored = Object.entries({ ...unsigned, ...later }).filter(([name]) => !signed.includes(name))
    for (const [name, value] of ignored) {
      const judged = judgeFields({ ...genuine, [name]: value })
      expect(judged, name).toMatchObject({ verdict: 'valid', ...content })
    }
    const variant = judgeFields({ ...genuine, ...unsigned })
    expect(variant).toMatchObject({ verdict: 'valid', fine: 63, coarse: 'low', country: 'DE' })
  })

  it('is invalid under another key, another curve, and with a signature in another form', () => {
    const text = Buffer.from(signedText(version, full))
    const own = version < '2.1' ? apple.secrets.p192 : apple.secrets.p256
    const swapped = version < '2.1' ? apple.secrets.p256 : apple.secrets.p192
    const stranger = generateKeyPairSync('ec', { namedCurve: version < '2.1' ? 'prime192v1' : 'prime256v1' }).privateKey
    const der = sign('sha256', text, own)
    const signatures = {
      signature_mismatch: [sign('sha256', text, swapped), sign('sha256', text, stranger), sign('sha384', text, own)],
      signature_encoding: [
        sign('sha256', text, { key: own, dsaEncoding: 'ieee-p1363' }),
        Buffer.concat([der, Buffer.from([0])]),
        der.subarray(1),
        Buffer.alloc(0),
      ],
    }
    for (const [reason, list] of Object.entries(signatures)) {
      for (const signature of list) {
        const body = { ...full, 'attribution-signature': signature.toString('base64') }
        expect(judgeFields(body)).toMatchObject({ verdict: 'invalid', reason, key: null, environment: null })
      }
    }
    for (const base64 of [
      der.toString('base64').replace(/=*$/, '!'),
      ` ${der.toString('base64')}`,
      der.toString('hex'),
    ])
      expect(judgeFields({ ...full, 'attribution-signature': base64 }).reason).toBe('signature_encoding')
    expect(judgeFields(full).reason).toBe('missing_field:attribution-signature')
    expect(judgeFields({ ...full, 'attribution-signature': 1 }).reason).toBe('wrong_type:attribution-signature')
  })
})

/** Another value of the same kind. */
function other(value: JsonValue | undefined): JsonValue {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value === 0 ? 1 : value - 1
  return /^\d\.\d$/.test(String(value)) ? '9.9' : `${value}1`
}

/** The same value as text or as a number, which a careless check would sign alike. */
const otherType = (value: JsonValue | undefined): JsonValue =>
  typeof value === 'string' ? (/^[\d.]+$/.test(value) ? Number(value) : { value }) : String(value)

describe('A SKAN postback', () => {
  it('keeps ids above 2^53 exact, and takes none above 64 bits', () => {
    for (const id of [2n ** 32n + 1n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
      const judged = judgeFields(apple.signSkan('4.0', skanFields('4.0', { 'app-id': id, 'source-app-id': id })))
      expect(judged).toMatchObject({ verdict: 'valid', advertised_item_id: `${id}`, publisher_item_id: `${id}` })
    }
    const judged = judgeFields(apple.signSkan('4.0', skanFields('4.0', { 'app-id': 2n ** 64n })))
    expect(judged).toMatchObject({ verdict: 'invalid', reason: 'wrong_type:app-id', advertised_item_id: '' })
  })

  it('takes no number that is written otherwise than Apple writes it', () => {
    const genuine = writeJson(apple.signSkan('3.0', skanFields('3.0')))
    for (const number of ['525463029.0', '5.25463029e8', '-525463029', '0525463029', '"525463029"'])
      expect(judge(genuine.replace('525463029', number)).verdict, number).toBe('invalid')
  })

  it('lets no value move into the place of its neighbour', () => {
    const genuine = apple.signSkan('4.0', skanFields('4.0', { 'source-app-id': 1 }))
    const { 'source-app-id': _, ...rest } = genuine
    expect(judgeFields({ ...rest, 'source-domain': '1' }).verdict).toBe('invalid')
    const { 'fidelity-type': _fidelity, ...shifted } = genuine
    expect(judgeFields(shifted).verdict).toBe('invalid')
    const { version: _version, ...first } = apple.signSkan('2.0', skanFields('2.0'))
    expect(judgeFields({ ...first, 'ad-network-id': `2.0\u2063${first['ad-network-id']}` }).verdict).toBe('invalid')
  })

  it('counts as 1.0 without a version, and is unverifiable with one that is unknown', () => {
    const { version: _, ...first } = apple.signSkan('1.0', skanFields('1.0'))
    expect(judgeFields(first)).toMatchObject({ verdict: 'valid', version: '1.0', redownload: null, did_win: null })
    const next = { ...skanFields('4.0', { 'postback-sequence-index': 1 }), version: '5.0' }
    const said = { version: '5.0', sequence_index: 1, network: 'example123.skadnetwork', key: null }
    expect(judgeFields(next)).toMatchObject({ verdict: 'unverifiable', reason: 'unknown_version', ...said })
    for (const version of [4, 4.0, 'four', '', null, {}, '4.0\u2063'])
      expect(judgeFields({ ...next, version }).reason).toBe('wrong_type:version')
  })

  it('is unverifiable where OpenSSL lacks the curve', () => {
    const without = new Map(apple.keys.skan).set('2.0', { name: 'skan-p192', key: null })
    const keys = postbackKeys(without, apple.keys.aak)
    expect(keys.fingerprint).not.toBe(apple.keys.fingerprint)
    const judged = judge(writeJson(apple.signSkan('2.0', skanFields('2.0'))), keys)
    expect(judged).toMatchObject({ verdict: 'unverifiable', reason: 'unsupported_curve', key: null })
  })

  it('has null for impossible conversion values and countries', () => {
    const genuine = apple.signSkan('4.0', skanFields('4.0'))
    for (const value of [-1, 64, 1.5, '20', true, null, [20], 2n ** 64n])
      expect(judgeFields({ ...genuine, 'conversion-value': value })).toMatchObject({ verdict: 'valid', fine: null })
    for (const value of ['none', 'LOW', '', 0, null])
      expect(judgeFields({ ...genuine, 'coarse-conversion-value': value })).toMatchObject({
        verdict: 'valid',
        coarse: null,
      })
    for (const value of ['de', 'DEU', '', 1, null])
      expect(judgeFields({ ...genuine, 'country-code': value })).toMatchObject({ verdict: 'valid', country: null })
  })

  it('is invalid with a name twice, signed or not, also where an escape hides it', () => {
    const genuine = writeJson(apple.signSkan('4.0', skanFields('4.0')))
    const said = { network: 'example123.skadnetwork', source: '5239', key: null, environment: null }
    for (const more of ['"app-id":525463029', '"\\u0061pp-id":1', '"conversion-value":63', '"version":"4.0"']) {
      expect(judge(`{${more},${genuine.slice(1)}`)).toMatchObject({
        verdict: 'invalid',
        reason: 'duplicate_field',
        ...said,
      })
      expect(judge(`${genuine.slice(0, -1)},${more}}`)).toMatchObject({
        verdict: 'invalid',
        reason: 'duplicate_field',
        ...said,
      })
    }
  })

  it('is invalid when it is no JSON object, too deep, too wide or too large', () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const texts = [
      '',
      ' ',
      '[]',
      'null',
      '{',
      '{}x',
      '{"a"}',
      '{"a":1,}',
      '\ufeff{}',
      '{"a":nul}',
      nested(9),
      nested(4000),
    ]
    for (const text of texts) expect(judge(text)).toMatchObject({ verdict: 'invalid', reason: 'bad_json' })
    const many = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, n])))
    expect([judge(many(100)).reason, judge(many(101)).reason]).toEqual(['missing_field:ad-network-id', 'bad_json'])
    expect(judge(`{${Array(101).fill('"a":1').join()}}`).reason).toBe('bad_json')
    expect(judge('{}').reason).toBe('missing_field:ad-network-id')
    const padded = ' '.repeat(limits.postback_body_bytes_max)
    const genuine = writeJson(apple.signSkan('4.0', skanFields('4.0')))
    expect(judge(genuine + padded.slice(genuine.length)).verdict).toBe('valid')
    expect(judge(genuine + padded)).toMatchObject({ verdict: 'invalid', reason: 'too_large' })
    expect(judgeFields({ 'transaction-id': 'x'.repeat(257), version: '4.0' }).postback_id).toBe('')
    expect(judge('{"transaction-id":"\\ud800"}').postback_id).toBe('')
  })

  it('never throws, and is never valid with other signed content, whatever bytes are changed', () => {
    const genuine = writeJson(apple.signSkan('4.0', skanFields('4.0')))
    const { fine: _fine, coarse: _coarse, country: _country, ...proven } = judge(genuine)
    const edit = fc.tuple(fc.nat(genuine.length), fc.nat(3), fc.string({ unit: 'binary', maxLength: 3 }))
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 3 }), (edits) => {
        const body = edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), genuine)
        const judged = judge(body)
        JudgedPostback.parse(judged)
        if (judged.verdict === 'valid') expect(judged).toMatchObject(proven)
      }),
      { numRuns: 2000 },
    )
  })
})
