import { limits } from '@tributary/contracts/limits'
import type { JudgedPostback, JudgedReason } from '@tributary/contracts/postback/judged'

const words: Record<JudgedReason, (postback: JudgedPostback, field: string) => string> = {
  verified: ({ environment, key }) =>
    environment === 'development'
      ? `The development key ${key} signed it. Reports count it only for an app with --development-keys on.`
      : `Apple's key ${key} signed it.`,
  too_large: () => `It is larger than ${limits.postback_body_bytes_max / 1024} KiB.`,
  bad_json: () =>
    `It is no JSON object, has more than ${limits.postback_members_max} fields, or nests deeper than ${limits.postback_depth_max}.`,
  bad_jws: () => 'It is no JWS of three base64url parts whose header and payload are JSON objects.',
  duplicate_field: () => 'It has a field twice.',
  missing_field: (_postback, field) => `The field ${field} is missing.`,
  wrong_type: (_postback, field) => `The field ${field} has a wrong type, is too long or is out of range.`,
  separator_in_value: (_postback, field) => `The field ${field} holds U+2063, which separates the signed values.`,
  signature_encoding: ({ protocol }) =>
    protocol === 'skan' ? 'The signature is no base64 of DER.' : 'The signature is not the 64 bytes of r and s.',
  signature_mismatch: ({ protocol }) =>
    protocol === 'skan'
      ? 'The key of Apple for this version did not sign these values.'
      : 'The key that the header names did not sign these bytes.',
  wrong_algorithm: () => 'Its header names another algorithm than ES256.',
  critical_header: () => 'Its header has crit, which names rules that Apple does not use.',
  unknown_version: ({ version }) => `This release knows no SKAdNetwork version ${version}.`,
  unknown_key: ({ protocol }) =>
    protocol === 'skan'
      ? 'It is a sample, signed by a test key. A service with TRIBUTARY_SKAN_TEST_KEY knows the key.'
      : 'This release has no key of the kid in its header. TRIBUTARY_AAK_JWKS_URL may give a service more keys.',
  unknown_conversion_type: () => 'Its signature is genuine, but this release does not know its conversion-type.',
  unsupported_curve: () => 'This Node.js was built without the curve P-192. Node.js from nodejs.org has it.',
}

/** Why a postback has its verdict, as a sentence. */
export function reasonText(postback: JudgedPostback): string {
  const [code = '', field = ''] = postback.reason.split(':')
  return words[code as JudgedReason]?.(postback, field) ?? postback.reason
}
