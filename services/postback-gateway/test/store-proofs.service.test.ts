import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { appleNotification, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { createGooglePushAuthority } from '@tributary/testing/stores/google-push-authority'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { openStoreProofs } from '../src/notifications/store-proofs.ts'

type Config = Parameters<typeof openStoreProofs>[0]

function open(config: Partial<Config> = {}) {
  const given = { TRIBUTARY_APPLE_ROOTS_FILE: undefined, TRIBUTARY_GOOGLE_CERTS_URL: undefined, ...config }
  const onClose = (_name: string, close: () => Promise<void>) => onTestFinished(close)
  return openStoreProofs(given, { now: Date.now, onClose, logger: pino({ level: 'silent' }) })
}

function fileWith(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-roots-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'roots.pem')
  writeFileSync(file, text)
  return file
}

/** Answers each request with these, one after the other. */
async function serve(...answers: { status: number; text: string }[]): Promise<string> {
  const server = createServer((_request, response) => {
    const { status, text } = answers.shift() ?? { status: 500, text: '' }
    response.writeHead(status).end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`
}

const apple = createAppleAuthority()
const notification = apple.sign(appleNotification())

it('proves notifications of Apple by the pinned root, or by those of a file in its place', async () => {
  const pinned = await open().apple()
  expect(await pinned(notification, 'com.example.run')).toBe('untrusted_chain')
  const others = await open({ TRIBUTARY_APPLE_ROOTS_FILE: fileWith(apple.root.certificate.toString()) }).apple()
  expect(await others(notification, 'com.example.run')).toMatchObject({ environment: 'Production', transaction: null })
})

it.each([() => fileWith('nothing'), () => '/nowhere/at/all'])(
  'refuses to start with a file of roots that holds none, by the name of its setting',
  (fileOf) => {
    const TRIBUTARY_APPLE_ROOTS_FILE = fileOf()
    expect(() => open({ TRIBUTARY_APPLE_ROOTS_FILE })).toThrow(StartRefused)
    expect(() => open({ TRIBUTARY_APPLE_ROOTS_FILE })).toThrow(/^TRIBUTARY_APPLE_ROOTS_FILE: /)
  },
)

const google = createGooglePushAuthority(Date.now)
const binding = { audiences: ['https://a.example/'], email: 'push@a.example' }
const token = () => google.token({ aud: binding.audiences[0], email: binding.email })

it('proves pushes of Google by the key set at the address of the setting, which is opened once', async () => {
  const proofs = open({ TRIBUTARY_GOOGLE_CERTS_URL: await serve({ status: 200, text: google.jwks }) })
  const prove = await proofs.google()
  expect(await prove(token(), binding)).toBeNull()
  expect(await proofs.google()).toBe(prove)
})

it.each([
  [500, google.jwks, 'keys_away'],
  [302, google.jwks, 'keys_away'],
  [200, 'no JSON', 'keys_away'],
  [200, '{}', 'keys_away'],
  [200, '{"keys":[]}', 'keys_away'],
  [200, '{"keys":[null,{"kty":"EC"},{"kty":"RSA"}]}', 'bad_token'],
  [200, `{"keys":[],"more":"${'x'.repeat(300 * 1024)}"}`, 'keys_away'],
])('knows no key of Google from an answer %i that is none: %.30s', async (status, text, fault) => {
  const prove = await open({ TRIBUTARY_GOOGLE_CERTS_URL: await serve({ status, text }) }).google()
  expect(await prove(token(), binding)).toBe(fault)
})
