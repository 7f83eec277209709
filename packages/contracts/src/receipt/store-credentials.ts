import { z } from 'zod'
import { limits } from '../limits.ts'

const line = (chars: number) =>
  z
    .string()
    .min(1)
    .max(chars)
    .regex(/^[!-~]+$/, 'It must be visible ASCII characters without spaces.')

/** A key of the App Store Server API, as App Store Connect hands it out. */
export const AppleKey = z.strictObject({
  issuer_id: z.guid().describe('Issuer id of App Store Connect.'),
  key_id: z
    .string()
    .regex(/^[A-Z0-9]{10}$/, 'It must be the 10 characters of the key id.')
    .describe('Id of the key.'),
  key: z.string().min(1).max(limits.store_key_chars_max).describe('The `.p8` file: PKCS #8 in PEM, a key of P-256.'),
})
export type AppleKey = z.infer<typeof AppleKey>

/** What is kept of the JSON file of a service account of Google; its addresses are not. */
export const ServiceAccount = z.object({
  type: z.literal('service_account'),
  client_email: line(320),
  private_key_id: line(128).optional(),
  private_key: z.string().min(1).max(limits.store_key_chars_max).describe('PKCS #8 in PEM, an RSA key.'),
})
export type ServiceAccount = z.infer<typeof ServiceAccount>

/** The answer of a store to the credentials of an app (docs/receipts.md#check-the-credentials). */
export const storeChecks = ['ok', 'no_credentials', 'no_bundle_id', 'refused', 'unknown_app', 'store_away'] as const
export type StoreCheck = (typeof storeChecks)[number]
