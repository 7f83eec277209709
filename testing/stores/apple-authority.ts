import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { type AppReceiptOrder, appReceipt } from './app-receipt.ts'
import { der, explicit, integer, objectId, octets, sequence, set, utf8 } from './der.ts'

/** Marks of Apple in the certificates that sign receipts (CP of Apple, "WWDR" and "receipt signing"). */
export const intermediate_mark = '1.2.840.113635.100.6.2.1'
export const leaf_mark = '1.2.840.113635.100.6.11.1'

export interface Issued {
  certificate: X509Certificate
  key: KeyObject
}

interface CertificateOrder {
  name: string
  issuer?: Issued
  mark?: string
  is_ca?: boolean
  from_ms?: number
  until_ms?: number
}

const ten_years_ms = 10 * 365 * 86_400_000

/** A certificate of P-256, signed by its issuer, else by itself. */
export function issue(order: CertificateOrder): Issued {
  const { name, issuer, mark, is_ca = true, from_ms = Date.UTC(2024, 0, 1), until_ms = from_ms + ten_years_ms } = order
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2'))
  const constraints = sequence(objectId('2.5.29.19'), octets(sequence(...(is_ca ? [der(0x01, [0xff])] : []))))
  const marked = mark === undefined ? [] : [sequence(objectId(mark), octets(der(0x05)))]
  const body = sequence(
    explicit(0, integer(2)),
    integer(Math.floor(Math.random() * 2 ** 31)),
    algorithm,
    named(issuer?.certificate.subject.replace('CN=', '') ?? name),
    sequence(time(from_ms), time(until_ms)),
    named(name),
    pair.publicKey.export({ format: 'der', type: 'spki' }),
    explicit(3, sequence(constraints, ...marked)),
  )
  const signature = sign('sha256', body, issuer?.key ?? pair.privateKey)
  const raw = sequence(body, algorithm, der(0x03, [0], signature))
  return { certificate: new X509Certificate(raw), key: pair.privateKey }
}

const named = (name: string): Buffer => sequence(set(sequence(objectId('2.5.4.3'), utf8(name))))
const time = (at_ms: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(at_ms).toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`))

/** Signs transactions as Apple does, with certificates of its own. */
export interface AppleAuthority {
  root: Issued
  intermediate: Issued
  leaf: Issued
  /** A JWS of the payload, with its chain in the header. */
  sign(payload: object, header?: object): string
  /** An app receipt from before StoreKit 2 (PKCS #7, base64) with these purchases, of June 1 2026. */
  appReceipt(transaction_ids: readonly string[], more?: Partial<AppReceiptOrder>): string
}

export function createAppleAuthority(dates: Pick<CertificateOrder, 'from_ms' | 'until_ms'> = {}): AppleAuthority {
  const root = issue({ name: 'Twin Root' })
  const intermediate = issue({ name: 'Twin Intermediate', issuer: root, mark: intermediate_mark })
  const leaf = issue({ name: 'Twin Leaf', issuer: intermediate, mark: leaf_mark, is_ca: false, ...dates })
  return authorityOf(root, intermediate, leaf)
}

export const authorityOf = (root: Issued, intermediate: Issued, leaf: Issued): AppleAuthority => ({
  ...{ root, intermediate, leaf },
  sign: (payload, header = headerOf(leaf, intermediate, root)) => signJws(header, payload, leaf.key),
  appReceipt: (transaction_ids, more) =>
    appReceipt({ transaction_ids, chain: [leaf, intermediate, root], key: leaf.key, ...more }),
})

/** The header of a JWS of Apple. */
export const headerOf = (...chain: Issued[]) => ({
  alg: 'ES256',
  x5c: chain.map(({ certificate }) => certificate.raw.toString('base64')),
})

export function signJws(header: object, payload: object, key: KeyObject): string {
  const signed = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** A transaction as Apple signs it, on June 1 2026. */
export const appleTransaction = (more: object = {}) => ({
  transactionId: '2000000123456789',
  originalTransactionId: '2000000123456789',
  bundleId: 'com.example.run',
  productId: 'coins_100',
  environment: 'Production',
  type: 'Consumable',
  inAppOwnershipType: 'PURCHASED',
  quantity: 1,
  purchaseDate: Date.UTC(2026, 5, 1),
  signedDate: Date.UTC(2026, 5, 1, 0, 0, 5),
  price: 4990,
  currency: 'EUR',
  storefront: 'DEU',
  ...more,
})

/** The payload of a notification of Apple about a subscription, on June 1 2026. */
export const appleNotification = (data: object = {}, more: object = {}) => ({
  notificationType: 'DID_RENEW',
  subtype: '',
  notificationUUID: 'b1a4cf0e-7a2e-4ad6-8f3e-2a7a3c1b6f10',
  version: '2.0',
  signedDate: Date.UTC(2026, 5, 1, 0, 0, 10),
  data: { appAppleId: 1234567890, bundleId: 'com.example.run', environment: 'Production', ...data },
  ...more,
})
