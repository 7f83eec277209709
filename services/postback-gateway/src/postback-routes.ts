import type { ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { jwsShape } from '@tributary/domain/postback/read-postback'
import { z } from 'zod'

const PostbackReply = z.object({ ok: z.literal(true) })
const ReceiverReply = z.object({ status: z.literal('ready') })

/** Whole numbers that devices send; others are kept too, and judged. */
const id = (what: string) => z.int().min(0).optional().describe(what)

const SkanPostback = z
  .looseObject({
    version: z.string().optional(),
    'ad-network-id': z.string().optional(),
    'source-identifier': z.string().optional(),
    'campaign-id': id('Before version 4.0.'),
    'app-id': id('Item id of the advertised app.'),
    'transaction-id': z.string().optional(),
    redownload: z.boolean().optional(),
    'source-app-id': id('Item id of the app that showed the ad.'),
    'source-domain': z.string().optional(),
    'fidelity-type': z.int().optional(),
    'did-win': z.boolean().optional(),
    'postback-sequence-index': z.int().optional(),
    'conversion-value': z.int().optional(),
    'coarse-conversion-value': z.string().optional(),
    'attribution-signature': z.string().optional(),
  })
  .describe("SKAdNetwork's postback, versions 1.0 to 4.0. Any JSON object is kept, and judged later.")

const AakPostback = z
  .looseObject({
    'jws-string': z.string().regex(jwsShape),
    'conversion-value': z.int().optional(),
    'coarse-conversion-value': z.string().optional(),
    'ad-interaction-type': z.string().optional(),
    'country-code': z.string().optional(),
  })
  .describe("AdAttributionKit's postback. A bare JWS (`application/jwt`) is taken as well.")

const errors = (unreadable: readonly ErrorCode[]): ErrorCode[] => [
  ...unreadable,
  ...(['body_too_large', 'request_timeout', 'rate_limited', 'audit_write_failed'] as const),
  ...(['internal_error', 'unavailable'] as const),
]

const description =
  'Public: the device sends no credentials, and Apple signed what is in the body. 200 once the postback is durable; its signature is verified afterwards. Devices send again what was not answered 200. The same bytes within 10 minutes are stored once. docs/rules.md#postbacks has the rules.'

/** A receiver at one path of SKAdNetwork. */
const receiveSkan = <Path extends `/${string}`>(path: Path, summary: string) => ({
  ...{ method: 'POST' as const, path, auth: 'public' as const, tag: 'Postbacks' as const, summary, description },
  body: {
    schema: { SkanPostback },
    bytes_max: limits.postback_body_bytes_max,
    examples: { 'version 4.0': skanExample },
  },
  answers: { 200: { description: 'It is durable.', schema: { PostbackReply }, example: { ok: true } } },
  errors: errors(['bad_json']),
})

/** A receiver at one path of AdAttributionKit. */
const receiveAak = <Path extends `/${string}`>(path: Path, summary: string) => ({
  ...receiveSkan(path, summary),
  body: {
    schema: { AakPostback },
    bytes_max: limits.postback_body_bytes_max,
    examples: { 'with a conversion value': aakExample },
  },
  errors: errors(['bad_json', 'bad_jws']),
})

/** A page for those who register an address: a browser shows that the address is right. */
const checkReceiver = <Path extends `/${string}`>(path: Path, summary: string) => ({
  ...{ method: 'GET' as const, path, auth: 'public' as const, tag: 'Postbacks' as const, summary },
  description: 'For people who register the address.',
  answers: {
    200: { description: 'Postbacks may be sent here.', schema: { ReceiverReply }, example: { status: 'ready' } },
  },
  errors: ['internal_error', 'unavailable'] satisfies ErrorCode[],
})

const skanExample = {
  version: '4.0',
  'ad-network-id': 'network.example',
  'source-identifier': '5239',
  'app-id': 1234567890,
  'transaction-id': '7d2c6f0a-52b1-4d0e-9a43-1f6c8f2d7e11',
  redownload: false,
  'source-app-id': 1122334455,
  'fidelity-type': 1,
  'did-win': true,
  'conversion-value': 21,
  'postback-sequence-index': 0,
  'attribution-signature': 'MEQCIEQ…',
}

const aakExample = {
  'jws-string': 'eyJhbGciOiJFUzI1NiIsImtpZCI6ImV4YW1wbGUvMCJ9.e30.c2lnbmF0dXJl',
  'conversion-value': 21,
  'ad-interaction-type': 'click',
  'country-code': 'US',
}

/** Receivers of SKAdNetwork: the short path, and the one that devices make of a registered domain. */
export const skanRoutes = {
  sendSkanPostback: receiveSkan('/skan-postback', 'Send a SKAdNetwork postback'),
  checkSkanReceiver: checkReceiver('/skan-postback', 'Check the SKAdNetwork receiver'),
  deviceSendsSkanPostback: receiveSkan(
    '/.well-known/skadnetwork/report-attribution/',
    'Send a SKAdNetwork postback to the path that devices use',
  ),
  checkSkanReceiverOfDevices: checkReceiver(
    '/.well-known/skadnetwork/report-attribution/',
    'Check the SKAdNetwork receiver of devices',
  ),
} satisfies Routes

/** Receivers of AdAttributionKit, in the same way. */
export const aakRoutes = {
  sendAakPostback: receiveAak('/aak-postback', 'Send an AdAttributionKit postback'),
  checkAakReceiver: checkReceiver('/aak-postback', 'Check the AdAttributionKit receiver'),
  deviceSendsAakPostback: receiveAak(
    '/.well-known/appattribution/report-attribution/',
    'Send an AdAttributionKit postback to the path that devices use',
  ),
  checkAakReceiverOfDevices: checkReceiver(
    '/.well-known/appattribution/report-attribution/',
    'Check the AdAttributionKit receiver of devices',
  ),
} satisfies Routes
