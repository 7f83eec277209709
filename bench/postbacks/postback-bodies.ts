import { type AppleTwin, aakPayload, type SkanVersion, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'

/** Versions of SKAdNetwork by curve (P-192, then P-256), AdAttributionKit, and a signature of another text. */
export const postbackKinds = ['2.0', '4.0', 'aak', 'forged'] as const

/** Different signed postbacks. Signing is not measured. */
export function postbackBodies(apple: AppleTwin, kind: (typeof postbackKinds)[number], count: number) {
  return Array.from({ length: count }, () => {
    if (kind === 'aak') return { protocol: 'aak' as const, body: apple.signAak(aakPayload()) }
    const version: SkanVersion = kind === 'forged' ? '4.0' : kind
    const signed = apple.signSkan(version, skanFields(version))
    const fields = kind === 'forged' ? { ...signed, 'source-identifier': '1' } : signed
    return { protocol: 'skan' as const, body: writeJson(fields) }
  })
}
