import { type Link, linkRoutes } from '@tributary/contracts/admin/links'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { byComma, checkedNumber } from '../../arguments.ts'
import { lines, list, print } from '../../output.ts'

interface CreateOptions {
  app: string
  partner: string
  campaign?: string
  adGroup?: string
  creative?: string
  fallbackUrl?: string
  deepLink?: string
  countries?: string[]
  lookbackHours?: number
  honeypot?: boolean
  json?: boolean
}

/** Adds `link create|list|enable|disable`. */
export function linkCommands(program: Command): void {
  const link = program.command('link').description('tracking links of an app: create, list, enable, disable')
  link
    .command('create')
    .description('create a tracking link')
    .requiredOption('--app <app_id>', 'the app that the link advertises')
    .requiredOption('--partner <name>', 'who gets the credit: a-z, 0-9, _ and -')
    .option('--campaign <name>', 'campaign of the partner')
    .option('--ad-group <name>', 'ad group of the campaign')
    .option('--creative <name>', 'what is shown')
    .option('--fallback-url <url>', 'where visitors without the right phone go (default: the store page)')
    .option('--deep-link <url>', 'where the app itself is to go; kept and shown, it redirects nobody')
    .option('--countries <codes>', 'count clicks from these countries only, such as DE,FR (default: all)', byComma)
    .option('--lookback-hours <hours>', 'click window of this link (default: that of the app)', checkedNumber)
    .option('--honeypot', 'catch bots with this link')
    .action(async ({ json, ...given }: CreateOptions) => {
      const created = await admin(linkRoutes.createLink, { body: bodyOf(given) })
      print({ json }, created, lines(created))
      if (!json && isLoopback(created.url)) process.stderr.write(`${loopbackWarning}\n`)
    })
  link
    .command('list')
    .description('list the tracking links of an app')
    .requiredOption('--app <app_id>', 'the app')
    .action(async ({ app, json }: { app: string; json?: boolean }) => {
      const answer = await admin(linkRoutes.listLinks, { query: { app_id: app } })
      print({ json }, answer, list(heads, answer.links.map(cellsOf)))
    })
  for (const [name, effect] of [
    ['enable', 'let a tracking link work again'],
    ['disable', 'count no more clicks on a tracking link; people still reach the store'],
  ] as const) {
    link
      .command(name)
      .description(effect)
      .argument('<link_id>')
      .action(async (link_id: string, options: { json?: boolean }) => {
        const answer = await admin(linkRoutes[`${name}Link`], { params: { id: link_id } })
        print(options, answer, `${answer.link_id} is ${answer.status}`)
      })
  }
}

/** Whether only this machine can open an address. */
const isLoopback = (url: string): boolean =>
  /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(URL.parse(url)?.hostname ?? '')

const loopbackWarning =
  'Warning: only this machine can open this address. Set TRIBUTARY_LINK_URL of the service to the address that phones use.'

const bodyOf = ({ app, adGroup, fallbackUrl, deepLink, lookbackHours, ...rest }: Omit<CreateOptions, 'json'>) => ({
  ...{ app_id: app, ad_group: adGroup, fallback_url: fallbackUrl, deep_link: deepLink, lookback_hours: lookbackHours },
  ...rest,
})

const heads = [
  ...[
    'link_id',
    'url',
    'partner',
    'campaign',
    'ad_group',
    'creative',
    'countries',
    'lookback_hours',
    'honeypot',
    'status',
  ],
  ...['created', 'fallback_url', 'deep_link'],
]

const cellsOf = (link: Link) => {
  const shown: Record<string, unknown> = {
    ...link,
    countries: link.countries ?? 'all',
    honeypot: link.honeypot ? 'yes' : 'no',
    created: new Date(link.created_at_ms).toISOString(),
  }
  return heads.map((name) => shown[name])
}
