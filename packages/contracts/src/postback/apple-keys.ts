import type { PostbackEnvironment } from './judged.ts'

/*
 * Apple's public keys as Apple's documentation prints them, base64 of SubjectPublicKeyInfo (RFC 5480). Apple publishes no
 * key set for them. A key is added here, never replaced: stored postbacks are judged again with it.
 */

const p256 =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWdp8GPcGqmhgzEFj9Z2nSpQVddayaPe4FMzqM9wib1+aHaaIzoHoLN9zW4K8y4SPykE3YVK3sVqW6Af0lfx3gg=='

/**
 * Keys of SKAdNetwork postbacks by name, with the versions that each signs. Source:
 * https://developer.apple.com/documentation/storekit/verifying-an-install-validation-postback (P-256) and
 * https://developer.apple.com/documentation/storekit/skadnetwork-2-release-notes (P-192).
 */
export const appleSkanKeys = {
  'skan-p192': {
    versions: ['1.0', '2.0'],
    spki: 'MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEMyHD625uvsmGq4C43cQ9BnfN2xslVT5V1nOmAMP6qaRRUll3PB1JYmgSm+62sosG',
  },
  'skan-p256': { versions: ['2.1', '2.2', '3.0', '4.0'], spki: p256 },
} as const

/**
 * Keys of AdAttributionKit postbacks by `kid`. Source:
 * https://developer.apple.com/documentation/adattributionkit/verifying-a-postback
 */
export const appleAakKeys: Readonly<Record<string, { environment: PostbackEnvironment; spki: string }>> = {
  'apple-cas-identifier/0': { environment: 'production', spki: p256 },
  'apple-development-identifier/0': {
    environment: 'development',
    spki: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeEDzpJEP+/qRSE5hJVC1p1J0ssUnQGMzBBbvnACBok8OVGGLgxL0myrKiy6lvRtSlLRsWit87i+vftD8AEqeQ==',
  },
  'apple-development-identifier/1': {
    environment: 'development',
    spki: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YzdO7eM97s/IJ25kdW5CZ3A14USE5IJ5Ha/vhWaxI6UBI1ZxCEvjrKxVluVGe6qWwF1BDFq+QHqKfH5u+wxHQ==',
  },
}

/**
 * The ad network of the sample postbacks in examples/postbacks. Ids of networks that Apple gives out have letters and digits alone. Only
 * the key of `TRIBUTARY_SKAN_TEST_KEY` proves its postbacks, so that they are never taken for Apple's.
 */
export const sampleNetwork = 'tributary-sample.skadnetwork'
