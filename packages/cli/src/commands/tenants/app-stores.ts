import { type SetStoreCredentials, storeRoutes } from '@tributary/contracts/admin/stores'
import type { StoreCheck } from '@tributary/contracts/receipt/store-credentials'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { CliError, usageError } from '../../errors.ts'
import { lines, print } from '../../output.ts'
import { readGiven } from '../../secrets/secret-option.ts'

/** The options of `app set` for credentials at the stores. */
export interface StoreOptions {
  appleIssuerId?: string
  appleKeyId?: string
  appleKeyFile?: string
  googleServiceAccountFile?: string
}

/** The options of `app set` for the notifications of Google. */
export interface PushOptions {
  googlePushAudience?: string
  googlePushEmail?: string
}

/** Adds them. */
export const pushOptions = (command: Command): Command =>
  command
    .option('--google-push-audience <audience>', 'audience of the tokens of Pub/Sub, "" is the push address')
    .option('--google-push-email <email>', 'service account of the tokens of Pub/Sub, "" takes it away')

export const pushFieldsOf = ({ googlePushAudience, googlePushEmail }: PushOptions) => ({
  ...{ google_push_audience: googlePushAudience, google_push_email: googlePushEmail },
})

/** Adds these options. */
export const storeOptions = (command: Command): Command =>
  command
    .option('--apple-issuer-id <id>', 'issuer id of App Store Connect, for receipts')
    .option('--apple-key-id <id>', 'id of the key of the App Store Server API')
    .option('--apple-key-file <file>', 'its .p8 file, - for standard input, "" takes the key away')
    .option(
      '--google-service-account-file <file>',
      'JSON file of a service account, - for standard input, "" takes the account away',
    )

/** The given credentials; null if none are given. Throws usage errors, and CliErrors for files that can't be read. */
export async function readStoreCredentials(given: StoreOptions): Promise<SetStoreCredentials | null> {
  const { appleIssuerId: issuer_id, appleKeyId: key_id, appleKeyFile, googleServiceAccountFile } = given
  if (appleKeyFile === '-' && googleServiceAccountFile === '-') throw usageError('Standard input can hold one file.')
  const credentials: SetStoreCredentials = {}
  if (appleKeyFile === '') credentials.apple = null
  else if (appleKeyFile !== undefined && issuer_id !== undefined && key_id !== undefined)
    credentials.apple = { issuer_id, key_id, key: await readFileOf('apple-key', appleKeyFile) }
  else if ((appleKeyFile ?? issuer_id ?? key_id) !== undefined)
    throw usageError('Give --apple-issuer-id, --apple-key-id and --apple-key-file together.')
  if (googleServiceAccountFile === '') credentials.google = null
  else if (googleServiceAccountFile !== undefined)
    credentials.google = readAccount(await readFileOf('google-service-account', googleServiceAccountFile))
  return Object.keys(credentials).length === 0 ? null : credentials
}

const readFileOf = async (name: string, file: string): Promise<string> => (await readGiven(name, undefined, file)) ?? ''

/** The service looks at its fields. */
function readAccount(text: string): NonNullable<SetStoreCredentials['google']> {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('bad_json', '--google-service-account-file: it is no JSON.')
  }
}

/** Adds `app check-store`. */
export function checkStoreCommand(app: Command): void {
  app
    .command('check-store')
    .description('ask the stores whether they take the credentials of an app')
    .argument('<app_id>')
    .action(async (app_id: string, { json }: { json?: boolean }) => {
      const checked = await admin(storeRoutes.checkStore, { params: { id: app_id } })
      print({ json }, checked, lines({ apple: words[checked.apple], google: words[checked.google] }))
    })
}

const words: Record<StoreCheck, string> = {
  ok: 'ok',
  no_credentials: 'No credentials are set, or their master key is not given: set them again.',
  no_bundle_id: 'The app has no bundle id: app set --bundle-id.',
  refused: 'The store does not take these credentials for this app.',
  unknown_app: 'The store knows no app with this bundle id.',
  store_away: 'The store gave no answer.',
}
