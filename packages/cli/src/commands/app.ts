import { AppCreated } from '@tributary/contracts/admin'
import { platforms } from '@tributary/contracts/envelope'
import { type Command, Option } from 'commander'
import { admin } from '../admin.ts'
import { lines, print } from '../output.ts'

interface CreateOptions {
  company: string
  name: string
  platform: string
  bundleId?: string
  storeId?: string
  providerToken?: string
  json?: boolean
}

/** `app create`. */
export function appCommands(program: Command): void {
  const app = program.command('app').description('apps of a company: create')
  app
    .command('create')
    .description('create an app; its signing secret is shown once')
    .requiredOption('--company <company_id>', 'the company it belongs to')
    .requiredOption('--name <name>', 'what people call it')
    .addOption(new Option('--platform <platform>', 'where it runs').choices(platforms).makeOptionMandatory())
    .option('--bundle-id <id>', 'bundle id or package name')
    .option('--store-id <id>', 'number of the app in the App Store')
    .option('--provider-token <token>', 'App Store provider token, for tracking links')
    .action(async ({ company, name, platform, bundleId, storeId, providerToken, json }: CreateOptions) => {
      const created = await admin('apps', AppCreated, {
        company_id: company,
        name,
        platform,
        bundle_id: bundleId,
        store_id: storeId,
        provider_token: providerToken,
      })
      print({ json }, created, `${lines(created)}\nKeep the signing secret: it is not shown again.`)
    })
}
