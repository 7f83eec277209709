import { type KeyObject, verify, type X509Certificate } from 'node:crypto'
import {
  Environment,
  SignedDataVerifier,
  VerificationException,
  VerificationStatus,
} from '@apple/app-store-server-library'
import { limits } from '@tributary/contracts/limits'
import type { ReceiptReason } from '@tributary/contracts/receipt/judged-receipt'
import { AppleTransaction } from '@tributary/contracts/receipt/transactions'

/** Why a text is no signed transaction of Apple. */
export type JwsFault = Extract<
  ReceiptReason,
  'malformed' | 'bad_signature' | 'untrusted_chain' | 'expired_certificate' | 'wrong_environment'
>

/** Verifies a signed transaction of StoreKit 2 offline. Never throws for what a stranger sends. */
export type VerifyJws = (jws: string) => Promise<AppleTransaction | JwsFault>

/**
 * Verifies with these roots, by Apple's library without online checks: certificates must have been valid on the date that
 * Apple signed. Apple repeats its header to the letter, so once the library has proven a JWS, a P-256 verification is enough
 * for others with its header.
 */
export function verifyJws(roots: readonly X509Certificate[]): VerifyJws {
  const proven = new Map<string, Chain>()
  return async (jws) => {
    const header = jws.slice(0, Math.max(jws.indexOf('.'), 0))
    try {
      const chain = proven.get(header)
      if (chain !== undefined) return verifyBelow(chain, jws)
      const verifier = new TransactionVerifier(roots)
      const transaction = mustBeTransaction(await verifier.verify(jws)) // without the fields that nobody reads
      if (proven.size >= limits.proven_headers_max) proven.clear()
      proven.set(header, verifier.chain!)
      return transaction
    } catch (err) {
      return faultOf(err)
    }
  }
}

/** Certificates that Apple's root issued. */
interface Chain {
  /** That of the leaf. */
  key: KeyObject
  from_ms: number
  until_ms: number
}

function verifyBelow(chain: Chain, jws: string): AppleTransaction {
  const [, payload = '', signature = '', ...more] = jws.split('.', 4)
  if (more.length > 0 || !isBase64url(payload) || !isBase64url(signature)) throw new Fault('malformed')
  const transaction = mustBeTransaction(readJson(payload))
  mustBeValidAt(chain, transaction.signedDate)
  const signed = Buffer.from(jws.slice(0, jws.lastIndexOf('.')))
  const proof = Buffer.from(signature, 'base64url')
  if (!verify('sha256', signed, { key: chain.key, dsaEncoding: 'ieee-p1363' }, proof)) throw new Fault('bad_signature')
  return transaction
}

const isBase64url = (text: string): boolean => /^[\w-]*$/.test(text)

function readJson(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return null
  }
}

/** Apple's library for one JWS; `chain` is there once its certificates are trusted. */
class TransactionVerifier extends SignedDataVerifier {
  chain: Chain | undefined
  private readonly roots: readonly X509Certificate[]

  constructor(roots: readonly X509Certificate[]) {
    // App and environment are compared later, with all that the transaction says at hand (docs/receipts.md#what-is-checked).
    super([], false, Environment.SANDBOX, '')
    this.roots = roots
  }

  verify(jws: string): Promise<AppleTransaction> {
    const validate = (payload: unknown): payload is AppleTransaction => mustBeTransaction(payload) !== null
    return this.verifyJWT(jws, { validate }, ({ signedDate }) => new Date(signedDate))
  }

  protected override async verifyCertificateChain(
    _roots: X509Certificate[],
    leaf: X509Certificate,
    intermediate: X509Certificate,
    signed_at: Date,
  ): Promise<KeyObject> {
    // Before the library, which takes milliseconds to read certificates that anybody may have made.
    const root = this.roots.find(
      ({ subject, publicKey }) => subject === intermediate.issuer && intermediate.verify(publicKey),
    )
    const is_issued = leaf.issuer === intermediate.subject && leaf.verify(intermediate.publicKey)
    if (root === undefined || !is_issued) throw new Fault('untrusted_chain')
    const all = [leaf, intermediate, root]
    const from_ms = Math.max(...all.map(({ validFrom }) => Date.parse(validFrom)))
    const until_ms = Math.min(...all.map(({ validTo }) => Date.parse(validTo)))
    // The library would judge dates and trust with one exception: at this date only trust can fail.
    const key = await this.verifyCertificateChainWithoutCaching([root], leaf, intermediate, new Date(from_ms)).catch(
      () => {
        throw new Fault('untrusted_chain')
      },
    )
    this.chain = { key, from_ms, until_ms }
    mustBeValidAt(this.chain, signed_at.getTime())
    return key
  }
}

/** Clocks of certificates and signatures may differ by this, as in Apple's library. */
const skew_ms = 60_000

function mustBeValidAt({ from_ms, until_ms }: Chain, signed_ms: number): void {
  const is_valid = signed_ms >= from_ms - skew_ms && signed_ms <= until_ms + skew_ms
  if (!is_valid) throw new Fault('expired_certificate')
}

function mustBeTransaction(payload: unknown): AppleTransaction {
  const read = AppleTransaction.safeParse(payload)
  if (!read.success) throw new Fault('malformed')
  // Xcode signs these with a key of its own.
  if (['Xcode', 'LocalTesting'].includes(read.data.environment)) throw new Fault('wrong_environment')
  return read.data
}

/** The library lets through its own exceptions alone. */
class Fault extends VerificationException {
  readonly reason: JwsFault

  constructor(reason: JwsFault) {
    super(VerificationStatus.FAILURE)
    this.reason = reason
  }
}

function faultOf(err: unknown): JwsFault {
  if (err instanceof Fault) return err.reason
  const status = err instanceof VerificationException ? err.status : null
  return status === VerificationStatus.INVALID_CERTIFICATE ? 'untrusted_chain' : 'bad_signature'
}
