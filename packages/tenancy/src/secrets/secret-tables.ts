import type { SecretBinding } from './master-keys.ts'

interface Table {
  table: string
  /** Its primary key. */
  id: string
  /** What stands before the names of the encrypted columns. */
  prefix: string
  purpose: SecretBinding['purpose']
  owner: 'app' | 'company' | 'person'
  /** What a loss of their master key means; absent where it does no harm. */
  loss?: { of: string; effect: string }
}

/** The tables that hold secrets. */
export const secretTables = [
  {
    ...{ table: 'apps', id: 'app_id', prefix: 'signing_secret_', purpose: 'signing_secret', owner: 'app' },
    loss: { of: 'signing secrets', effect: '/event answers 503 for them' },
  },
  {
    ...{ table: 'company_salts', id: 'company_id', prefix: '', purpose: 'company_salt', owner: 'company' },
    loss: { of: 'salts', effect: 'their links answer 503 and their installs wait' },
  },
  {
    ...{ table: 'link_secrets', id: 'app_id', prefix: '', purpose: 'link_secret', owner: 'app' },
    loss: { of: 'link secrets', effect: 'their links answer 503 and their installs wait' },
  },
  { table: 'old_signing_secrets', id: 'id', prefix: '', purpose: 'signing_secret', owner: 'app' },
  { table: 'apple_keys', id: 'app_id', prefix: '', purpose: 'apple_key', owner: 'app' },
  { table: 'google_accounts', id: 'app_id', prefix: '', purpose: 'google_account', owner: 'app' },
  { table: 'partner_secrets', id: 'settings_id', prefix: '', purpose: 'partner_secret', owner: 'app' },
  { table: 'totp_offers', id: 'person_id', prefix: '', purpose: 'totp_secret', owner: 'person' },
  { table: 'totp_secrets', id: 'person_id', prefix: '', purpose: 'totp_secret', owner: 'person' },
] as const satisfies readonly Table[]
export type SecretTable = (typeof secretTables)[number]
