import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import type { Mailer } from '@tributary/tenancy/people/mail/mailer'
import { type Notice, noticeMail } from './notice.ts'

/** Somebody who gets notices. */
export interface NoticeTarget {
  /** The same in every process, and no address: it is in PostgreSQL. */
  id: string
  kind: 'mail' | 'webhook'
  /** Resolves once the target has taken the notice of a UTC day. */
  send(notice: Notice, day: string, stop: AbortSignal): Promise<void>
}

type NoticeSettings = 'TRIBUTARY_ADMIN_URL' | 'TRIBUTARY_ATTENTION_MAIL' | 'TRIBUTARY_ATTENTION_WEBHOOK'

/** The targets of `TRIBUTARY_ATTENTION_MAIL` and `TRIBUTARY_ATTENTION_WEBHOOK`. */
export function noticeTargets(settings: Settings<NoticeSettings>, mailer: Mailer | undefined): NoticeTarget[] {
  const { TRIBUTARY_ATTENTION_MAIL: addresses, TRIBUTARY_ATTENTION_WEBHOOK: webhook } = settings
  const origin = new URL(settings.TRIBUTARY_ADMIN_URL ?? 'http://127.0.0.1:8080').origin
  const mails = mailer === undefined ? [] : [...new Set(addresses)].map((to) => mailTarget(to, mailer, origin))
  return webhook === undefined ? mails : [...mails, webhookTarget(webhook)]
}

/** Each address gets a mail of its own: one that the server refuses takes nothing from the others. */
const mailTarget = (to: string, mailer: Mailer, origin: string): NoticeTarget => ({
  id: `mail:${hash('sha256', to, 'base64url')}`,
  kind: 'mail',
  send: (notice) => mailer.send({ to, ...noticeMail(notice, origin) }),
})

/** A redirect is not followed: it may lead to a place that the setting must not name. */
const webhookTarget = (url: string): NoticeTarget => ({
  id: 'webhook',
  kind: 'webhook',
  async send(notice, day, stop) {
    const answer = await fetch(url, {
      ...{ method: 'POST', body: JSON.stringify(notice), redirect: 'manual' },
      headers: { 'content-type': 'application/json', 'idempotency-key': `attention-${day}` },
      signal: AbortSignal.any([stop, AbortSignal.timeout(limits.attention_webhook_ms_max)]),
    })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`It answered ${answer.status}.`)
  },
})
