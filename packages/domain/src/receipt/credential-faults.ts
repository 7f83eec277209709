import { createPrivateKey, type KeyObject, sign } from 'node:crypto'

const rsa_bits_min = 2048

/** The fault of a private key of App Store Connect; null for a good one. Apple signs requests with ES256. */
export const appleKeyFault = (pem: string): string | null =>
  readKey(pem)?.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    ? null
    : 'It must be the .p8 file of App Store Connect: a private key of P-256 in PEM.'

/** The fault of a private key of a service account; null for a good one. Google takes RS256 alone. */
export function googleKeyFault(pem: string): string | null {
  const key = readKey(pem)
  const is_good = key?.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= rsa_bits_min
  return is_good ? null : `It must be a private key of RSA in PEM, of ${rsa_bits_min} bits or more.`
}

/** Null for other text; an encrypted key is none, since nobody has its password. */
function readKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    sign('sha256', Buffer.from('a trial'), key) // a key may have the right form and be none
    return key
  } catch {
    return null
  }
}
