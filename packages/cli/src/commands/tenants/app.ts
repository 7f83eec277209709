import { App, appRoutes, type CreateApp } from '@tributary/contracts/admin/apps'
import { storeRoutes } from '@tributary/contracts/admin/stores'
import { platforms } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { type Command, Option } from 'commander'
import { admin } from '../../admin.ts'
import { checkedNumber, wholeNumberUpTo } from '../../arguments.ts'
import { usageError } from '../../errors.ts'
import { lines, list, print } from '../../output.ts'
import {
  checkStoreCommand,
  type PushOptions,
  pushFieldsOf,
  pushOptions,
  readStoreCredentials,
  type StoreOptions,
  storeOptions,
} from './app-stores.ts'

interface Settings {
  name?: string
  bundleId?: string
  storeId?: string
  providerToken?: string
  json?: boolean
}

interface ChangeOptions extends Settings, StoreOptions, PushOptions {
  clickWindowHours?: number
  probabilistic?: 'on' | 'off'
  probabilisticWindowHours?: number
  reinstallDays?: number
  developmentKeys?: 'on' | 'off'
  validReceiptsOnly?: 'on' | 'off'
}

interface CreateOptions extends Settings {
  company: string
  name: string
  platform: CreateApp['platform']
}

/** Adds `app create|list|set|check-store|move-store-id|rotate-secret`. */
export function appCommands(program: Command): void {
  const app = program
    .command('app')
    .description('apps of a company: create, list, set, check-store, move-store-id, rotate-secret')
  settings(app.command('create'))
    .description('create an app; its signing secret is shown once')
    .requiredOption('--company <company_id>', 'the company of the app')
    .requiredOption('--name <name>', 'what people call it')
    .addOption(new Option('--platform <platform>', 'where it runs').choices(platforms).makeOptionMandatory())
    .action(async ({ company, platform, name, json, ...given }: CreateOptions) => {
      const body = { company_id: company, platform, ...fieldsOf(given), name }
      const created = await admin(appRoutes.createApp, { body })
      print({ json }, created, `${lines(created)}\nKeep the signing secret: it is not shown again.`)
    })
  app
    .command('list')
    .description('list the apps of a company')
    .requiredOption('--company <company_id>', 'the company')
    .action(async ({ company, json }: { company: string; json?: boolean }) => {
      const answer = await admin(appRoutes.listApps, { query: { company_id: company } })
      print({ json }, answer, list(heads, answer.apps.map(shown).map(Object.values)))
    })
  pushOptions(storeOptions(settings(app.command('set'))))
    .description('change the given settings of an app')
    .argument('<app_id>')
    .option('--name <name>', 'what people call it')
    .option('--click-window-hours <hours>', 'how long after a click an install may come from it', checkedNumber)
    .addOption(new Option('--probabilistic <on|off>', 'match by address and system too').choices(['on', 'off']))
    .option('--probabilistic-window-hours <hours>', 'the click window of such matches', checkedNumber)
    .option('--reinstall-days <days>', 'how long a further install of a device is a reinstall', checkedNumber)
    .addOption(
      new Option('--development-keys <on|off>', "count postbacks that Apple's development keys signed").choices([
        'on',
        'off',
      ]),
    )
    .addOption(
      new Option('--valid-receipts-only <on|off>', 'count no money of receipts that are unverified').choices([
        'on',
        'off',
      ]),
    )
    .action(async (app_id: string, { json, ...given }: ChangeOptions) => {
      const credentials = await readStoreCredentials(given)
      const counting = {
        development_keys: isOn(given.developmentKeys),
        valid_receipts_only: isOn(given.validReceiptsOnly),
      }
      const body = { ...fieldsOf(given), ...attributionOf(given), ...pushFieldsOf(given), ...counting }
      const has_settings = Object.values(body).some((value) => value !== undefined)
      const params = { id: app_id }
      let now: App | undefined
      if (has_settings) now = await admin(appRoutes.changeApp, { params, body })
      if (credentials !== null) now = await admin(storeRoutes.setStoreCredentials, { params, body: credentials })
      if (now === undefined) throw usageError('Name a setting to change; --help lists them.')
      print({ json }, now, lines(shown(now)))
    })
  checkStoreCommand(app)
  app
    .command('move-store-id')
    .description("move a store id, with Apple's postbacks of it, from the app that has it to another one")
    .argument('<store_id>', 'the digits after id in the App Store address')
    .requiredOption('--to <app_id>', 'the app that gets it')
    .action(async (store_id: string, { to, json }: { to: string; json?: boolean }) => {
      const moved = await admin(appRoutes.moveStoreId, { params: { id: to }, body: { store_id } })
      const { dropped_store_id, ...now } = moved
      const text = lines(shown(now))
      print({ json }, moved, dropped_store_id === undefined ? text : `${text}\n${isDropped(dropped_store_id)}`)
    })
  app
    .command('rotate-secret')
    .description('give an app a new signing secret, shown once; the old one stays valid for a while')
    .argument('<app_id>')
    .option('--overlap-hours <hours>', overlapMeaning, hours, limits.secret_overlap_hours_default)
    .action(async (app_id: string, { overlapHours, json }: { overlapHours: number; json?: boolean }) => {
      const rotated = await admin(appRoutes.rotateSigningSecret, {
        params: { id: app_id },
        body: { overlap_hours: overlapHours },
      })
      const { signing_secret, ...rest } = rotated
      const text = lines({ ...shown(rest), signing_secret })
      print({ json }, rotated, `${text}\n${keepNew}`)
    })
}

const isDropped = (store_id: string): string =>
  `The app had the store id ${store_id} before. No app has it now; give it to one with app set --store-id.`

const keepNew = `Keep the signing secret: it is not shown again. Update files with the old one before it ends, such as SIGNING_SECRET
in the demo.env of the data folder.`

const hours = wholeNumberUpTo(limits.secret_overlap_hours_max)
const overlapMeaning = 'how long the old secret stays valid; 0 ends all old secrets at once'

const settings = (command: Command): Command =>
  command
    .option('--bundle-id <id>', 'bundle id or package name')
    .option('--store-id <id>', 'iOS: the digits after id in the App Store address')
    .option('--provider-token <token>', 'App Store provider token, for tracking links')

const fieldsOf = ({ name, bundleId, storeId, providerToken }: Settings) => ({
  ...{ name, bundle_id: bundleId, store_id: storeId, provider_token: providerToken },
})

const isOn = (given: 'on' | 'off' | undefined) => given && given === 'on'

const attributionOf = ({ probabilistic, ...given }: ChangeOptions) => ({
  click_window_hours: given.clickWindowHours,
  probabilistic: isOn(probabilistic),
  probabilistic_window_hours: given.probabilisticWindowHours,
  reinstall_days: given.reinstallDays,
})

/** The app with times as text, for people. */
const shown = ({ created_at_ms, old_secrets_end_ms, ...app }: App) => ({
  ...app,
  created: time(created_at_ms),
  old_secrets_end: old_secrets_end_ms.map(time).join(',') || null,
})

/** The column names of `shown`, which an empty list needs too. */
const heads = Object.keys(App.shape).map((name) => name.replace(/(_at)?_ms$/, ''))

const time = (at_ms: number): string => new Date(at_ms).toISOString()
