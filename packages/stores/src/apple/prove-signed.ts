import { hash, verify, X509Certificate } from 'node:crypto'
import { type Element, inside, tags } from './der.ts'
import type { JwsFault } from './verify-jws.ts'

/** Why Apple did not sign something, or nobody could read it. */
export type ProofFault = Exclude<JwsFault, 'wrong_environment'>

/** Apple's marks in the certificates of receipts: extensions of the leaf, and of its issuer. */
const leaf_mark = '2a864886f76364060b01' // 1.2.840.113635.100.6.11.1
const issuer_mark = '2a864886f76364060201' // 1.2.840.113635.100.6.2.1
/** The attribute that holds the hash of the content. */
const content_hash = '2a864886f70d010904'
const hashes: Readonly<Record<string, string>> = { '2b0e03021a': 'sha1', '608648016503040201': 'sha256' }

/** A receipt has three. More would only cost time. */
const certificates_max = 8

/**
 * Whether a SignedData of PKCS #7 (RFC 2315) holds a signature of `content` by a certificate that one of the roots issued for receipts, through one
 * intermediate, all valid on the date that the content names. Null: it does. Without online checks.
 */
export function proveSigned(
  signed: Element,
  content: Buffer,
  { roots, signed_ms }: { roots: readonly X509Certificate[]; signed_ms: number },
): ProofFault | null {
  const parts = inside(signed, tags.sequence)
  const certificates = inside(
    parts.find(({ tag }) => tag === tags.context_0),
    tags.context_0,
  )
  const [signer] = inside(parts.at(-1), tags.set)
  const chain = findChain(certificates.slice(0, certificates_max), roots)
  if (chain === null) return 'untrusted_chain'
  const is_valid = chain.every(
    ({ validFrom, validTo }) => Date.parse(validFrom) <= signed_ms && signed_ms <= Date.parse(validTo),
  )
  if (!is_valid) return 'expired_certificate'
  return isSignedBy(chain[0]!, signer, content) ? null : 'bad_signature'
}

/** Leaf, intermediate and root. Who is trusted is verified from the root on: no key of a stranger is worked with. */
function findChain(found: readonly Element[], roots: readonly X509Certificate[]): X509Certificate[] | null {
  const ofMark = (mark: string) => found.filter((one) => hasExtension(one, mark)).flatMap(certificateOf)
  const leaves = ofMark(leaf_mark)
  for (const intermediate of ofMark(issuer_mark)) {
    const root = roots.find((one) => intermediate.ca && isIssued(intermediate, one))
    const leaf = root && leaves.find((one) => isIssued(one, intermediate))
    if (leaf) return [leaf, intermediate, root]
  }
  return null
}

const isIssued = (one: X509Certificate, by: X509Certificate): boolean =>
  one.issuer === by.subject && one.verify(by.publicKey)

/** The certificate that these bytes are. Node also reads one that stands in them as PEM, whose marks would be those of the sender. */
function certificateOf({ raw }: Element): X509Certificate[] {
  try {
    const certificate = new X509Certificate(raw)
    return certificate.raw.equals(raw) ? [certificate] : []
  } catch {
    return []
  }
}

function hasExtension(certificate: Element, id: string): boolean {
  const [body] = inside(certificate, tags.sequence)
  const explicit = inside(body, tags.sequence).find(({ tag }) => tag === tags.context_3)
  const [all] = inside(explicit, tags.context_3)
  return inside(all, tags.sequence).some((one) => idOf(one) === id)
}

/** The object id at the beginning of a sequence, in hexadecimal. */
function idOf(element: Element | undefined): string {
  const [id] = inside(element, tags.sequence)
  return id?.tag === tags.object_id ? id.value.toString('hex') : ''
}

/** SignerInfo: version, issuer and number, hash algorithm, attributes that are signed where there are some, signature. */
function isSignedBy({ publicKey }: X509Certificate, signer: Element | undefined, content: Buffer): boolean {
  const [, , named, ...others] = inside(signer, tags.sequence)
  const algorithm = hashes[idOf(named)]
  const own = others.find(({ tag }) => tag === tags.context_0)
  const signature = others.find(({ tag }) => tag === tags.octet_string)
  if (algorithm === undefined || signature === undefined) return false
  if (own === undefined) return verify(algorithm, content, publicKey, signature.value)
  const attribute = inside(own, tags.context_0).find((one) => idOf(one) === content_hash)
  const [, values] = inside(attribute, tags.sequence)
  const [value] = inside(values, tags.set)
  // They are signed as a SET.
  const attributes = Buffer.concat([Buffer.from([tags.set]), own.raw.subarray(1)])
  return (
    value?.value.equals(hash(algorithm, content, 'buffer')) === true &&
    verify(algorithm, attributes, publicKey, signature.value)
  )
}
