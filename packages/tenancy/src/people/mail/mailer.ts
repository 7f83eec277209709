import { setTimeout } from 'node:timers/promises'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import nodemailer from 'nodemailer'
import type { Logger } from 'pino'

export interface Mail {
  /** One address, whatever characters it has. */
  to: string
  subject: string
  text: string
}

/** Gives mail to the mail server of an installation. */
export interface Mailer {
  /** Resolves once the server has taken it. Throws `mail_failed`, within `limits.mail_wait_ms_max`. */
  send(mail: Mail): Promise<void>
}

export interface MailerOptions {
  /** `smtp://user:password@host:587` or `smtps://`. */
  url: string
  from: string
  logger: Pick<Logger, 'warn'>
  wait_ms?: number
}

/** The mail server of `TRIBUTARY_SMTP_URL`; undefined where it is not set. */
export function mailerOf(
  { TRIBUTARY_SMTP_URL: url, TRIBUTARY_SMTP_FROM: from }: Settings<'TRIBUTARY_SMTP_URL' | 'TRIBUTARY_SMTP_FROM'>,
  { logger }: { logger: Pick<Logger, 'warn'> },
): Mailer | undefined {
  return url === undefined || from === undefined ? undefined : openMailer({ url, from, logger })
}

/** Each mail is a connection of its own: there are few, and none is kept that the server has closed. */
export function openMailer({ url, from, logger, wait_ms = limits.mail_wait_ms_max }: MailerOptions): Mailer {
  const timeouts = { dnsTimeout: wait_ms, connectionTimeout: wait_ms, greetingTimeout: wait_ms, socketTimeout: wait_ms }
  const safety = { disableFileAccess: true, disableUrlAccess: true }
  const transport = nodemailer.createTransport({ url, ...timeouts, ...safety, requireTLS: demandsTls(url) })
  return {
    async send({ to, subject, text }) {
      // An address as an object: as a text, a comma in it would be two addresses.
      const sent = transport.sendMail({ from, to: { name: '', address: to }, subject, text })
      const late = new AbortController()
      const wait = setTimeout(wait_ms, undefined, { signal: late.signal }).then(() => {
        throw new Error('It took too long.')
      })
      try {
        await Promise.race([sent, wait])
      } catch (error) {
        sent.catch(() => {})
        const { code, responseCode: response_code, message } = error as Error & { code?: string; responseCode?: number }
        logger.warn({ code, response_code, reason: message }, 'a mail was not sent')
        throw new CodedError('mail_failed', { message: 'The mail server did not take the mail: nothing was changed.' })
      } finally {
        wait.catch(() => {})
        late.abort()
      }
    },
  }
}

/** A mail holds a secret: it goes encrypted, but to this machine, or where the address says `requireTLS=false`. */
function demandsTls(url: string): boolean {
  const { hostname, searchParams } = new URL(url)
  const isLocal = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
  return !isLocal && searchParams.get('requireTLS') !== 'false'
}
