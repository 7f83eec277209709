/** Types of attributes in an app receipt (Apple, "Receipt Fields"). */
const in_app_type = 17
const transaction_id_type = 1703

/** Tags of ASN.1. */
const [integer, octet_string, object_id, sequence, set] = [0x02, 0x04, 0x06, 0x30, 0x31]
const [utf8_string, context_0] = [0x0c, 0xa0]

/**
 * Ids of the transactions in an app receipt from before StoreKit 2 (base64 of PKCS #7), in its order. Empty for any other
 * text. The signature is not verified: the ids serve to ask Apple. One pass over the bytes, since the reader of Apple's
 * library takes seconds for 20 KB that somebody made for it.
 */
export function transactionIdsOf(app_receipt: string): string[] {
  const [info] = read(Buffer.from(app_receipt, 'base64'))
  const [, signed] = inside(info, sequence)
  const [data] = inside(signed, context_0)
  const content = inside(data, sequence).find(({ tag, value }) => tag === sequence && value[0] === object_id)
  const [, explicit] = inside(content, sequence)
  const [octets] = inside(explicit, context_0)
  const purchases = attributes(octets).filter(({ type }) => type === in_app_type)
  return purchases.flatMap(({ value }) =>
    attributes(value)
      .filter(({ type }) => type === transaction_id_type)
      .flatMap(({ value }) => inside(value, octet_string))
      .filter(({ tag, value }) => tag === utf8_string && isTransactionId(value.toString('latin1')))
      .map(({ value }) => value.toString('latin1')),
  )
}

/** Ids of Apple are digits. Nothing else may get into the path of a request. */
export const isTransactionId = (text: string): boolean => /^\d{1,32}$/.test(text)

interface Element {
  tag: number
  value: Buffer
}

/** A SET of SEQUENCEs of type, version and an octet string that holds a value. */
function attributes(octets: Element | undefined): { type: number; value: Element | undefined }[] {
  const [all] = inside(octets, octet_string)
  return inside(all, set).map((one) => {
    const [type, , value] = inside(one, sequence)
    const bytes = type?.tag === integer ? type.value.length : 0
    return { type: bytes >= 1 && bytes <= 4 ? type!.value.readUIntBE(0, bytes) : -1, value }
  })
}

const inside = (element: Element | undefined, tag: number): Element[] =>
  element?.tag === tag ? read(element.value) : []

/** The elements of DER (X.690) that stand one after the other; up to the first that is none. */
function read(bytes: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const tag = bytes[at]!
    const first = bytes[at + 1]!
    const long = first & 0x80 ? first & 0x7f : 0
    if (long > 4 || (first & 0x80 && long === 0) || at + 2 + long > bytes.length) break
    const start = at + 2 + long
    const end = start + (long === 0 ? first : bytes.readUIntBE(at + 2, long))
    if (end > bytes.length) break
    elements.push({ tag, value: bytes.subarray(start, end) })
    at = end
  }
  return elements
}
