import { hash, type KeyObject, sign } from 'node:crypto'
import type { Issued } from './apple-authority.ts'
import { der, explicit, integer, objectId, octets, sequence, set, utf8 } from './der.ts'

/** What an app receipt from before StoreKit 2 holds. */
export interface AppReceiptOrder {
  transaction_ids: readonly string[]
  /** Its certificates, in any order. */
  chain: readonly Issued[]
  /** The key that signs it. */
  key: KeyObject
  bundle_id?: string
  created?: string
  digest?: 'sha1' | 'sha256'
  /** Signs attributes that name the digest of the content, instead of the content. */
  has_attributes?: boolean
  /** Attributes besides. */
  more?: readonly Buffer[]
}

const digests = { sha1: '1.3.14.3.2.26', sha256: '2.16.840.1.101.3.4.2.1' } as const

/** A receipt as Apple makes it (PKCS #7, RFC 2315), in base64. */
export function appReceipt(order: AppReceiptOrder): string {
  const { transaction_ids, chain, key, bundle_id = 'com.example.run', created = '2026-06-01T00:00:00Z' } = order
  const { digest = 'sha256', has_attributes = false, more = [] } = order
  const attribute = (type: number, value: Buffer) => sequence(integer(type), integer(1), octets(value))
  const purchases = transaction_ids.map((id) =>
    attribute(17, set(attribute(1702, utf8('coins_100')), attribute(1703, utf8(id)), attribute(1705, utf8(id)))),
  )
  const date = attribute(12, der(0x16, Buffer.from(created)))
  const content = set(attribute(2, utf8(bundle_id)), date, ...purchases, ...more)
  const data = sequence(objectId('1.2.840.113549.1.7.1'), explicit(0, octets(content)))
  const algorithm = sequence(objectId(digests[digest]))
  const own = sequence(objectId('1.2.840.113549.1.9.4'), set(octets(hash(digest, content, 'buffer'))))
  const signed = sign(digest, has_attributes ? set(own) : content, key)
  const signer = sequence(
    ...[integer(1), sequence(), algorithm, ...(has_attributes ? [explicit(0, own)] : [])],
    ...[sequence(objectId('1.2.840.113549.1.1.1')), octets(signed)],
  )
  const certificates = explicit(0, Buffer.concat(chain.map(({ certificate }) => certificate.raw)))
  const all = sequence(integer(1), set(algorithm), data, certificates, set(signer))
  return sequence(objectId('1.2.840.113549.1.7.2'), explicit(0, all)).toString('base64')
}
