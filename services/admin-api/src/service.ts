import { setTimeout } from 'node:timers/promises'
import { apiDocs } from '@tributary/api-docs/api-docs'
import { openDocuments } from '@tributary/api-docs/documents'
import { consumers } from '@tributary/contracts/consumers'
import { openTargets } from '@tributary/domain/partner/targets'
import { panel } from '@tributary/panel/panel'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { startJobs } from '@tributary/service-kit/service/every'
import { systemStatus } from '@tributary/service-kit/service/system-status'
import { redecisionsResource } from '@tributary/tables/attribution/postgres-redecisions'
import { openCosts } from '@tributary/tables/costs/store-costs'
import { readReceiptBacklog } from '@tributary/tables/receipts/due-receipts'
import { openLinkMails } from '@tributary/tenancy/people/mail/link-mails'
import { mailerOf } from '@tributary/tenancy/people/mail/mailer'
import { identityProviderOf } from '@tributary/tenancy/people/oidc/identity-provider'
import { endClaimedRoles, removeExpired } from '@tributary/tenancy/people/remove-expired'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { resolveHosts } from '@tributary/tenancy/resolve-host'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { adminDocs } from './admin-docs.ts'
import { adminApi } from './app.ts'
import { noticeTargets } from './attention/notices/notice-targets.ts'
import { sendNotices } from './attention/notices/send-notices.ts'
import { reconcileQuota } from './quota/reconcile-quota.ts'
import { watchErasures } from './watch-erasures.ts'

/** Between two rounds, and between two looks whether another process still does them. */
const reconciliation_pause_ms = 5000
/** Pause between two looks for requests for erasure that are late. */
const watch_pause_ms = 60_000
/** Pause between two looks whether the daily notice is due. */
const notice_pause_ms = 60_000
/** Pause between two removals of sessions and links that have ended, and of old entries of the audit log. */
const expired_pause_ms = 600_000
const pause = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal }).catch(() => {})

/** Manages companies, apps and keys, and shows the state of the whole. */
export const service = defineService({
  name: 'admin-api',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    keyValue: redisEngine,
    audit: s3Engine,
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    redecisions: redecisionsResource,
  },
  settings: [
    ...['TRIBUTARY_LINK_URL', 'TRIBUTARY_ADMIN_URL', 'TRIBUTARY_TRUSTED_PROXIES', 'TRIBUTARY_PASSWORD_SIGN_IN'],
    ...['TRIBUTARY_OIDC_ISSUER', 'TRIBUTARY_OIDC_CLIENT_ID', 'TRIBUTARY_OIDC_CLIENT_SECRET'],
    ...['TRIBUTARY_OIDC_ROLE_CLAIM', 'TRIBUTARY_OIDC_ALLOWED_DOMAINS'],
    ...['TRIBUTARY_SMTP_URL', 'TRIBUTARY_SMTP_FROM', 'TRIBUTARY_ATTENTION_MAIL', 'TRIBUTARY_ATTENTION_WEBHOOK'],
    ...['TRIBUTARY_PUBLIC_URL', 'TRIBUTARY_POSTBACK_ALLOWED_NETWORKS'],
    ...['TRIBUTARY_APPLE_API_URL', 'TRIBUTARY_GOOGLE_API_URL', 'TRIBUTARY_GOOGLE_TOKEN_URL'],
  ] as const,
  required: ['TRIBUTARY_ADMIN_TOKEN'],
  jobs: [
    {
      name: 'quota_reconciliation',
      pause_ms: reconciliation_pause_ms,
      // One process of several does it, while its session holds the lease.
      prepare({ postgres: pool, ...context }) {
        const deps = { ...context, pool, pause }
        return (signal) =>
          unlessRunning(pool, 'quota_reconciliation', (lost) => reconcileQuota(deps, AbortSignal.any([signal, lost])))
      },
    },
    {
      name: 'erasures_watch',
      pause_ms: watch_pause_ms,
      prepare: ({ postgres: pool, ...context }) => watchErasures({ ...context, pool }),
    },
    {
      name: 'expired_people_rows',
      pause_ms: expired_pause_ms,
      prepare:
        ({ postgres: pool, now, config }) =>
        async () => {
          await removeExpired(pool, now())
          const { TRIBUTARY_OIDC_ISSUER: issuer, TRIBUTARY_OIDC_ROLE_CLAIM: claim } = config
          if (issuer === undefined || claim === undefined) await endClaimedRoles(pool)
        },
    },
  ],
  routes: async (context) => async (app) => {
    const { postgres: pool, redecisions, config } = context
    const unjudged = async () => {
      const { unjudged: count, oldest_unjudged_ms: oldest_ms } = await readReceiptBacklog(pool)
      return { count, oldest_ms }
    }
    const backlogs = new Map([
      [consumers.installAttributor.name, redecisions.backlog],
      [consumers.receiptValidator.name, unjudged],
    ])
    const status = () => systemStatus({ ...context, consumers: Object.values(consumers), backlogs })
    const documents = openDocuments()
    await app.register(apiDocs(documents))
    await app.register(panel())
    const sessions = openSessions({ ...context, pool })
    context.onClose('sessions', () => sessions.close())
    const { TRIBUTARY_ADMIN_TOKEN: admin_token, TRIBUTARY_LINK_URL: link_url, TRIBUTARY_ADMIN_URL: admin_url } = config
    const { TRIBUTARY_TRUSTED_PROXIES: trusted_proxies, TRIBUTARY_PUBLIC_URL: public_url } = config
    const serves_links = context.instance !== undefined // one process of all services
    const address = { sessions, admin_url, public_url, trusted_proxies }
    const mailer = mailerOf(config, context)
    const mails = mailer && openLinkMails(mailer, context.keyValue)
    // A job of the routes: it needs the health of the process.
    const work = sendNotices({ ...context, pool, status, targets: noticeTargets(config, mailer) })
    startJobs([{ name: 'attention_notices', pause_ms: notice_pause_ms, prepare: () => work }], context)
    const oidc = identityProviderOf(config, context)
    const costs = openCosts({ ...context, pool })
    const sending = {
      targets: openTargets(config.TRIBUTARY_POSTBACK_ALLOWED_NETWORKS),
      resolve: resolveHosts(),
    }
    const store_urls = {
      apple: config.TRIBUTARY_APPLE_API_URL,
      google: config.TRIBUTARY_GOOGLE_API_URL,
      google_token: config.TRIBUTARY_GOOGLE_TOKEN_URL,
    }
    const signIn = { mails, oidc, oidc_alone: config.TRIBUTARY_PASSWORD_SIGN_IN === 'off' }
    await app.register(adminDocs({ ...context, ...address, pool, admin_token, documents }))
    await app.register(
      adminApi({
        ...{ ...context, ...address, ...signIn, ...sending },
        ...{ pool, costs, store_urls, admin_token, link_url, serves_links, status },
      }),
    )
  },
})
