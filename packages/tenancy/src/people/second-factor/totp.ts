import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** Seconds of a code; one code before and one after the present one are taken too, for clocks that differ. */
const period = 30
const window = 1
const issuer = 'Tributary'

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({ issuer, label, algorithm: 'SHA1', digits: 6, period, secret: Secret.fromBase32(secret) })

/** A secret of 160 bits in base32 (RFC 4226). */
export const makeTotpSecret = (): string => new Secret({ buffer: new Uint8Array(randomBytes(20)).buffer }).base32

/** What authenticators read from a QR code. */
export const totpUri = (secret: string, email: string): string => totpOf(secret, email).toString()

/** The time step of a right code that is newer than `last_step`; null for a wrong one, and for one that was used (RFC 6238). */
export function findStep(
  secret: string,
  code: string,
  { now_ms, last_step }: { now_ms: number; last_step: number },
): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = totpOf(secret).validate({ token: code, timestamp: now_ms, window })
  if (delta === null) return null
  const step = Math.floor(now_ms / 1000 / period) + delta
  return step > last_step ? step : null
}
