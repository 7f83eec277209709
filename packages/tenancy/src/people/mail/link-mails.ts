import { hash } from 'node:crypto'
import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { emailKey } from '../memberships.ts'
import type { Mail, Mailer } from './mailer.ts'

/** Sends the mails of one-time links. Nobody gets more than a few an hour, whoever asks for them, and a company causes not many. */
export interface LinkMails {
  /** `company_id` is null for what operators cause. Throws `rate_limited`, `mail_failed`, and `unavailable` while the counters are away. */
  send(mail: Mail, company_id: string | null): Promise<void>
}

export function openLinkMails(mailer: Mailer, keyValue: Pick<KeyValue, 'hitWindow'>): LinkMails {
  async function spend(key: string, max: number): Promise<void> {
    const hit = await keyValue.hitWindow(key, max, limits.mails_window_ms).catch((cause: unknown) => {
      throw new CodedError('unavailable', { message: 'The counters are away: no mail is sent.', cause })
    })
    if (!hit.allowed) throw rateLimited(hit.retry_after_ms)
  }
  return {
    async send(mail, company_id) {
      await spend(`mail:${boxOf(mail.to)}`, limits.mails_of_address_max)
      if (company_id !== null) await spend(`mails_of:${company_id}`, limits.mails_of_company_max)
      await mailer.send(mail)
    },
  }
}

/** A box has many names with a plus. The counters hold no address. */
function boxOf(email: string): string {
  const at = email.lastIndexOf('@')
  return hash('sha256', emailKey(email.slice(0, at).replace(/\+.*/s, '') + email.slice(at)), 'base64url')
}

/** Texts of people stand on lines of their own, below what is said for sure. */
export const invitationMail = (
  to: string,
  url: string,
  about: { role: string; company_name: string | null },
): Mail => ({
  to,
  subject: 'Your invitation to Tributary',
  text: `${[
    'Hello,',
    `You are invited to the admin panel of Tributary as ${about.role}.`,
    ...(about.company_name === null ? [] : [`Company: ${about.company_name}`]),
    `Open this link within 24 hours. It works once:\n${url}`,
    'Did you not expect this mail? Then ignore it: without the link nothing happens.',
  ].join('\n\n')}\n`,
})

export const resetMail = (to: string, url: string): Mail => ({
  to,
  subject: 'Your new password for Tributary',
  text: `${[
    'Hello,',
    'An operator of Tributary lets you set a new password. It ends all your sessions.',
    `Open this link within 24 hours. It works once:\n${url}`,
    'Did you not expect this mail? Then ask your operator: your password stays as it is until you use the link.',
  ].join('\n\n')}\n`,
})
