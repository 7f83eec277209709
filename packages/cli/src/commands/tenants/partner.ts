import { type Delivery, type Partner, partnerRoutes } from '@tributary/contracts/admin/partners'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { byComma, checkedNumber } from '../../arguments.ts'
import { usageError } from '../../errors.ts'
import { lines, list, print } from '../../output.ts'
import { readGiven } from '../../secrets/secret-option.ts'

interface SetOptions {
  app: string
  partner: string
  postbackUrl: string
  method?: 'GET' | 'POST'
  events?: string[]
  flagged?: 'skip' | 'send'
  /** False: `--no-hmac-secret`. */
  hmacSecret?: string | false
  hmacSecretFile?: string
  json?: boolean
}
interface Named {
  app: string
  partner: string
  json?: boolean
}

/** Adds `partner set|list|remove|test|deliveries|retry`. */
export function partnerCommands(program: Command): void {
  const partner = program
    .command('partner')
    .description('postbacks to partners: set, list, remove, test, deliveries, retry')
  partner
    .command('set')
    .description('notify a partner of the installs and events that it brought')
    .requiredOption('--app <app_id>', 'the app')
    .requiredOption('--partner <name>', 'the partner of its links')
    .requiredOption('--postback-url <template>', 'https URL with macros such as {ext_click_id} (docs/postbacks.md)')
    .option('--method <method>', 'GET, or POST to send the fields as JSON too (default: GET)')
    .option('--events <names>', 'install and names of events, by comma (default: install)', byComma)
    .option('--flagged <send|skip>', 'installs with a fraud flag (default: skip)')
    .option('--hmac-secret <secret>', 'signs the postbacks; - reads standard input (default: as it was)')
    .option('--hmac-secret-file <file>', 'file with the secret, - for standard input')
    .option('--no-hmac-secret', 'sign no more')
    .action(async ({ json, ...given }: SetOptions) => {
      const answer = await admin(partnerRoutes.setPartner, { body: await bodyOf(given) })
      const { preview, ...settings } = answer
      const shown = { ...settings, events: settings.events.join(','), example: `${preview.method} ${preview.url}` }
      print({ json }, answer, lines(shown))
    })
  partner
    .command('list')
    .description('list the partners of an app that are notified, and what waits')
    .requiredOption('--app <app_id>', 'the app')
    .action(async ({ app, json }: { app: string; json?: boolean }) => {
      const answer = await admin(partnerRoutes.listPartners, { query: { app_id: app } })
      print({ json }, answer, list(heads, answer.partners.map(cellsOf)))
    })
  named(partner, 'remove', 'end the postbacks of a partner; what is due is not sent', async (body, options) => {
    const answer = await admin(partnerRoutes.removePartner, { body })
    print(options, answer, `${answer.partner} gets no more postbacks`)
  })
  named(partner, 'test', 'send a partner one postback now', async (body, options) => {
    const answer = await admin(partnerRoutes.testPartner, { body })
    print(options, answer, lines({ ...answer.delivery }))
  })
  named(partner, 'retry', 'send the dead postbacks of a partner again', async (body, options) => {
    const answer = await admin(partnerRoutes.retryPartner, { body })
    print(options, answer, `Due again: ${answer.retried}`)
  })
  partner
    .command('deliveries')
    .description('list tries to deliver, the newest first')
    .requiredOption('--app <app_id>', 'the app')
    .option('--partner <name>', 'of this partner only')
    .option('--dead', 'only postbacks that were given up')
    .option('--limit <count>', 'the newest so many (default: 100)', checkedNumber)
    .action(async ({ app, partner: name, dead, limit, json }: DeliveriesOptions) => {
      const query = { app_id: app, partner: name, dead: dead ? ('1' as const) : ('0' as const), limit }
      const answer = await admin(partnerRoutes.listDeliveries, { query })
      print({ json }, answer, list(deliveryHeads, answer.deliveries.map(deliveryCells)))
    })
}

interface DeliveriesOptions {
  app: string
  partner?: string
  dead?: boolean
  limit?: number
  json?: boolean
}

type NamedAction = (body: { app_id: string; partner: string }, options: { json?: boolean }) => Promise<void>

/** A command that names a partner of an app and nothing else. */
function named(partner: Command, name: string, effect: string, act: NamedAction): void {
  partner
    .command(name)
    .description(effect)
    .requiredOption('--app <app_id>', 'the app')
    .requiredOption('--partner <name>', 'the partner')
    .action(async ({ app, partner: of, json }: Named) => act({ app_id: app, partner: of }, json ? { json } : {}))
}

async function bodyOf(given: Omit<SetOptions, 'json'>) {
  const { app, partner, postbackUrl, method, events, flagged, hmacSecret, hmacSecretFile } = given
  if (typeof hmacSecret === 'string' && hmacSecretFile !== undefined)
    throw usageError('Give --hmac-secret or --hmac-secret-file, not both.')
  const secret = await secretOf(given)
  return {
    ...{ app_id: app, partner, postback_url: postbackUrl, method, events, flagged },
    ...(secret !== undefined && { hmac_secret: secret }),
  }
}

/** Null ends signatures; undefined leaves them as they are. */
async function secretOf({ hmacSecret: given, hmacSecretFile: file }: SetOptions): Promise<string | null | undefined> {
  return given === false ? null : readGiven('hmac-secret', given, file)
}

const heads = ['partner', 'postback_url', 'method', 'events', 'flagged', 'signed', 'due', 'oldest_due', 'dead']

function cellsOf(partner: Partner) {
  const shown: Record<string, unknown> = {
    ...partner,
    events: partner.events.join(','),
    signed: partner.signed ? 'yes' : 'no',
    oldest_due: partner.oldest_due_ms === null ? '' : new Date(partner.oldest_due_ms).toISOString(),
  }
  return heads.map((name) => shown[name])
}

const deliveryHeads = [
  ...[
    'tried_at',
    'partner',
    'event_name',
    'install_uuid',
    'try',
    'outcome',
    'status',
    'reason',
    'elapsed_ms',
    'answer',
  ],
]

function deliveryCells(delivery: Delivery) {
  const shown: Record<string, unknown> = { ...delivery, tried_at: new Date(delivery.tried_at_ms).toISOString() }
  return deliveryHeads.map((name) => shown[name] ?? '')
}
