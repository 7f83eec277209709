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
import type { z } from 'zod'

/** Why a text is no signed transaction of Apple. */
export type JwsFault = Extract<
  ReceiptReason,
  'malformed' | 'bad_signature' | 'untrusted_chain' | 'expired_certificate' | 'wrong_environment'
>

/** A kind of payload that Apple signs. */
export interface SignedKind<T> {
  schema: z.ZodType<T>
  /** The environments that a payload names. */
  environmentsOf(payload: T): readonly (string | undefined)[]
}

/** Verifies what Apple signed offline. Never throws for what a stranger sends. */
export type VerifySigned = <T extends Dated>(jws: string, kind: SignedKind<T>) => Promise<T | JwsFault>

/** Verifies a signed transaction of StoreKit 2 in the same way. */
export type VerifyJws = (jws: string) => Promise<AppleTransaction | JwsFault>

interface Dated {
  signedDate: number
}

/** Signed transactions. */
export const transactionKind: SignedKind<AppleTransaction> = {
  schema: AppleTransaction,
  environmentsOf: ({ environment }) => [environment],
}

/** Verifies signed transactions with these roots; see `verifySigned`. */
export function verifyJws(roots: readonly X509Certificate[]): VerifyJws {
  const verify = verifySigned(roots)
  return (jws) => verify(jws, transactionKind)
}

/**
 * Verifies with these roots, by Apple's library without online checks: certificates must have been valid on the date that
 * Apple signed. Apple repeats its header to the letter, so once the library has proven a JWS, a P-256 verification is enough
 * for others with its header, of whatever kind: the same certificates sign them all.
 */
export function verifySigned(roots: readonly X509Certificate[]): VerifySigned {
  const proven = new Map<string, Chain>()
  return async (jws, kind) => {
    const header = jws.slice(0, Math.max(jws.indexOf('.'), 0))
    try {
      const chain = proven.get(header)
      if (chain !== undefined) return verifyBelow(chain, jws, kind)
      const verifier = new Verifier(roots)
      const payload = mustBe(kind, await verifier.verify(jws, kind)) // without the fields that nobody reads
      if (proven.size >= limits.proven_headers_max) proven.clear()
      proven.set(header, verifier.chain!)
      return payload
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

function verifyBelow<T extends Dated>(chain: Chain, jws: string, kind: SignedKind<T>): T {
  const [, payload = '', signature = '', ...more] = jws.split('.', 4)
  if (more.length > 0 || !isBase64url(payload) || !isBase64url(signature)) throw new Fault('malformed')
  const read = mustBe(kind, readJson(payload))
  mustBeValidAt(chain, read.signedDate)
  const signed = Buffer.from(jws.slice(0, jws.lastIndexOf('.')))
  const proof = Buffer.from(signature, 'base64url')
  if (!verify('sha256', signed, { key: chain.key, dsaEncoding: 'ieee-p1363' }, proof)) throw new Fault('bad_signature')
  return read
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
class Verifier extends SignedDataVerifier {
  chain: Chain | undefined
  private readonly roots: readonly X509Certificate[]

  constructor(roots: readonly X509Certificate[]) {
    // App and environment are compared later, with all that the payload says at hand (docs/receipts.md#what-is-checked).
    super([], false, Environment.SANDBOX, '')
    // Apple signs each JWS below its elliptic root; the RSA one is for receipts from before StoreKit 2.
    this.roots = roots.filter(({ publicKey }) => publicKey.asymmetricKeyType === 'ec')
  }

  verify<T extends Dated>(jws: string, kind: SignedKind<T>): Promise<T> {
    const validate = (payload: unknown): payload is T => mustBe(kind, payload) !== null
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

/** Xcode signs these with a key of its own. */
const unsigned_environments: readonly (string | undefined)[] = ['Xcode', 'LocalTesting']

function mustBe<T>({ schema, environmentsOf }: SignedKind<T>, payload: unknown): T {
  const read = schema.safeParse(payload)
  if (!read.success) throw new Fault('malformed')
  if (environmentsOf(read.data).some((one) => unsigned_environments.includes(one))) throw new Fault('wrong_environment')
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
