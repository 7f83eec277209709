import type { X509Certificate } from 'node:crypto'
import { type Element, inside, readElements, tags } from './der.ts'
import { type ProofFault, proveSigned } from './prove-signed.ts'

/** Types of attributes in an app receipt (Apple, "Receipt Fields"). */
const [bundle_id_type, created_type, in_app_type, transaction_id_type] = [2, 12, 17, 1703]

/** What an app receipt from before StoreKit 2 says, and Apple signed. */
export interface AppReceipt {
  bundle_id: string
  /** Ids of its transactions in its order: one at least. */
  transaction_ids: [string, ...string[]]
}

/** Reads an app receipt (base64 of PKCS #7) that Apple signed. Never throws for what a stranger sends. */
export type ReadAppReceipt = (app_receipt: string) => AppReceipt | ProofFault

/**
 * Reads receipts that a chain to one of these roots signed, as "Validating receipts on the device" of Apple says. One pass over the bytes, since
 * the reader of Apple's library takes seconds for 20 KB that somebody made for it.
 */
export const readAppReceipt =
  (roots: readonly X509Certificate[]): ReadAppReceipt =>
  (app_receipt) => {
    const [info] = readElements(Buffer.from(app_receipt, 'base64'))
    const [, explicit] = inside(info, tags.sequence)
    const [signed] = inside(explicit, tags.context_0)
    const content = inside(signed, tags.sequence).find(
      ({ tag, value }) => tag === tags.sequence && value[0] === tags.object_id,
    )
    const [, data] = inside(content, tags.sequence)
    const [octets] = inside(data, tags.context_0)
    const all = attributes(octets)
    const textOf = (type: number, tag: number) => {
      const value = all.find((one) => one.type === type)?.value
      return inside(value, tags.octet_string)
        .find((one) => one.tag === tag)
        ?.value.toString('utf8')
    }
    const bundle_id = textOf(bundle_id_type, tags.utf8_string)
    const created_ms = Date.parse(textOf(created_type, tags.ia5_string) ?? '')
    const [first, ...others] = transactionIds(all)
    if (octets === undefined || bundle_id === undefined || Number.isNaN(created_ms) || first === undefined)
      return 'malformed'
    const fault = proveSigned(signed!, octets.value, { roots, signed_ms: created_ms })
    return fault ?? { bundle_id, transaction_ids: [first, ...others] }
  }

const transactionIds = (all: readonly Attribute[]): string[] =>
  all
    .filter(({ type }) => type === in_app_type)
    .flatMap(({ value }) => attributes(value))
    .filter(({ type }) => type === transaction_id_type)
    .flatMap(({ value }) => inside(value, tags.octet_string))
    .filter(({ tag, value }) => tag === tags.utf8_string && isTransactionId(value.toString('latin1')))
    .map(({ value }) => value.toString('latin1'))

/** Ids of Apple are digits. Nothing else may get into the path of a request. */
export const isTransactionId = (text: string): boolean => /^\d{1,32}$/.test(text)

interface Attribute {
  type: number
  value: Element | undefined
}

/** A SET of SEQUENCEs of type, version and an octet string that holds a value. */
function attributes(octets: Element | undefined): Attribute[] {
  const [all] = inside(octets, tags.octet_string)
  return inside(all, tags.set).map((one) => {
    const [type, , value] = inside(one, tags.sequence)
    const bytes = type?.tag === tags.integer ? type.value.length : 0
    return { type: bytes >= 1 && bytes <= 4 ? type!.value.readUIntBE(0, bytes) : -1, value }
  })
}
