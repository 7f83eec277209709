import { hasAppleSamples, readAppleSample } from '@tributary/testing/postback/apple-samples'
import { aakPayload, createAppleTwin, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { expect, it } from 'vitest'
import { startService } from '../fake-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'

const apple = createAppleTwin()
const skan = writeJson(apple.signSkan('4.0', skanFields('4.0')))
const jws = apple.signAak(aakPayload())
const verify = async (body: string | Buffer, ...more: string[]) =>
  tributary(['postback', 'verify', await fileWith('postback', body), ...more])

it('says why a postback is not genuine: a code with --json, a sentence without', async () => {
  const forged = skan.replace('"app-id":525463029', '"app-id":"1"')
  const [json, words] = await Promise.all([verify(jws, '--json'), verify(forged)])
  expect(json).toMatchObject({ code: 0, stderr: '' })
  const refused = { protocol: 'aak', verdict: 'invalid', reason: 'signature_mismatch', key: null }
  expect(JSON.parse(json.stdout)).toEqual(refused)
  expect(words).toMatchObject({ code: 0, stderr: '' })
  const told = words.stdout.split('\n')
  expect(told.slice(0, 2).map((line) => line.replace(/ +/, ': '))).toEqual([
    'verdict: invalid',
    'reason: The field app-id has a wrong type, is too long or is out of range.',
  ])
  expect(told.filter((line) => / $/.test(line))).toEqual([]) // nothing said is a dash
})

it.skipIf(!hasAppleSamples())('names the key that signed a sample of Apple', async () => {
  const { stdout } = await verify(readAppleSample('body-aak-dev.jwt'), '--json')
  const key = 'apple-development-identifier/1'
  expect(JSON.parse(stdout)).toEqual({ protocol: 'aak', verdict: 'valid', reason: 'verified', key })
})

it('sends the bytes of the file, and fails unless they were stored', async () => {
  const service = await startService(({ method, path, headers, body }) => {
    if (body.equals(Buffer.from('junk'))) return { status: 400, body: { error: 'bad_json' } }
    return { status: 200, body: { method, path, type: headers['content-type'], body: body.toString('base64') } }
  })
  const env = { TRIBUTARY_URL: service.url }
  const bytes = Buffer.concat([Buffer.from(skan), Buffer.from([0xff])])
  const send = async (body: string | Buffer, ...more: string[]) =>
    tributary(['postback', 'send', await fileWith('postback', body), ...more], env)
  const [sent, refused] = await Promise.all([send(bytes, '--json'), send('junk', '--json', '--protocol', 'skan')])
  await service.close()
  const seen = { method: 'POST', path: '/skan-postback', type: 'application/json', body: bytes.toString('base64') }
  expect([sent.code, JSON.parse(sent.stdout)]).toEqual([0, { status: 200, body: seen }])
  expect([refused.code, JSON.parse(refused.stdout)]).toEqual([1, { status: 400, body: { error: 'bad_json' } }])
})

it('refuses a file that is not there', async () => {
  const { code, stderr } = await tributary(['postback', 'verify', '/nowhere/x', '--json'])
  expect([code, JSON.parse(stderr).error]).toEqual([1, 'file_not_found'])
})
