import { limits } from '@tributary/contracts/limits'
import { openLinkMails } from '@tributary/tenancy/people/mail/link-mails'
import { openMailer } from '@tributary/tenancy/people/mail/mailer'
import { startMailServer } from '@tributary/testing/people/test-mail-server'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { newEmail, password, peopleWorld } from './people-world.ts'

const log: string[] = []
const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) })
const server = await startMailServer()
afterAll(() => server.close())
const from = 'Tributary <tributary@example.com>'
const mailer = openMailer({ url: server.url, from, logger, wait_ms: 1000 })
const mails = openLinkMails(mailer, memoryKeyValue(Date.now))
const world = peopleWorld({ mails, logger, admin_url: 'http://127.0.0.1:8080' })
const { ask, openBrowser } = world

const lastMail = () => server.received.at(-1)!
const linkIn = (text: string, page: string) =>
  text.match(new RegExp(`^http://127.0.0.1:8080/admin/${page}#(\\S+)$`, 'm'))?.[1]
const newCompany = async (name: string) => (await ask('POST', '/companies', { name })).body.company_id as string

test('invitations and resets are mailed in plain text, and shown nowhere', async () => {
  const company_id = await newCompany('Käse & Söhne')
  const email = newEmail()
  const invited = await ask('POST', '/people/invite', { email, role: 'analyst', company_id })
  expect(invited).toMatchObject({ status: 200, body: { invitation_url: null } })
  const { headers, text, to } = lastMail()
  expect(to).toEqual([email])
  expect(lastMail().from).toBe('tributary@example.com')
  expect(headers).toContain('Content-Type: text/plain; charset=utf-8')
  expect(text).toContain('as analyst.\r\n\r\nCompany: Käse & Söhne\r\n')
  const token = linkIn(text, 'invitation')
  expect(await openBrowser().ask('POST', '/invitations/accept', { token, password })).toMatchObject({ status: 200 })
  expect((await ask('POST', '/people/reset', { email })).body).toMatchObject({ reset_url: null })
  const given = { token: linkIn(lastMail().text, 'reset'), password: `${password} 2` }
  expect(await openBrowser().ask('POST', '/resets/use', given)).toMatchObject({ status: 200 })
  expect(log.join('')).not.toContain(token)
})

test('a mail that fails says so and changes nothing: the invitation before stays good', async () => {
  const company_id = await newCompany('Acme')
  const email = newEmail()
  await ask('POST', '/people/invite', { email, role: 'analyst', company_id })
  const token = linkIn(lastMail().text, 'invitation')
  for (const refusal of ['550 no such box', 'silence']) {
    server.refusal = refusal
    const failed = await ask('POST', '/people/invite', { email, role: 'owner', company_id })
    expect(failed, refusal).toMatchObject({ status: 503, body: { error: 'mail_failed' } })
  }
  server.refusal = null
  const { people } = (await ask('GET', `/people?company_id=${company_id}`)).body
  expect(people).toMatchObject([{ email, role: 'analyst', status: 'invited' }])
  expect((await ask('GET', `/audit-log?company_id=${company_id}&action=person`)).body.entries).toHaveLength(1)
  expect(await openBrowser().ask('POST', '/invitations/accept', { token, password })).toMatchObject({ status: 200 })
  expect(log.join('')).toContain('a mail was not sent')
  expect(log.join('')).not.toContain(server.password)
})

test('nothing that people write makes another header or another recipient', async () => {
  const sent = server.received.length
  const several = ['a,eve@example.com', 'eve;a@example.com', '"a:eve"@example.com', 'a@example.com, eve@example.com']
  for (const email of [...several, 'a@example.com\r\nBcc: eve@example.com', 'a@b\u0000'])
    expect(await ask('POST', '/people/invite', { email, role: 'operator' }), email).toMatchObject({ status: 400 })
  const forged = await ask('POST', '/companies', { name: 'Acme\r\nBcc: eve@example.com' })
  expect(forged).toMatchObject({ status: 400, body: { field: 'name' } })
  expect(server.received).toHaveLength(sent)
  const company_id = await newCompany('Bcc: eve@example.com, "<eve@example.com>"')
  const email = newEmail()
  expect(await ask('POST', '/people/invite', { email, role: 'analyst', company_id })).toMatchObject({ status: 200 })
  const mails = server.received.slice(sent)
  expect(mails.map(({ to }) => to)).toEqual([[email]])
  expect(mails[0]!.headers).not.toMatch(/^bcc/im)
})

test('nobody is flooded: an address gets a few mails an hour, whatever spelling it has', async () => {
  const [name] = newEmail().split('@')
  const invite = (n: number) => {
    const email = `${n % 2 === 0 ? name : name?.toUpperCase()}+${n}@example.com`
    return ask('POST', '/people/invite', { email, role: 'operator' })
  }
  for (let n = 0; n < limits.mails_of_address_max; n += 1) expect(await invite(n)).toMatchObject({ status: 200 })
  const refused = await invite(9)
  expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3000)
})

test('a company causes few mails an hour, whoever of it asks, and takes none from others', async () => {
  const [large, small] = [await newCompany('Large'), await newCompany('Small')]
  const invite = async (company_id: string) =>
    (await ask('POST', '/people/invite', { email: newEmail(), role: 'analyst', company_id })).status
  for (let n = 0; n < limits.mails_of_company_max; n += 1) expect(await invite(large)).toBe(200)
  expect([await invite(large), await invite(small)]).toEqual([429, 200])
})

test('a server that is not on this machine gets a mail encrypted, or none', async () => {
  const url = server.url.replace('127.0.0.1', '0.0.0.0') // this machine by a name that does not say so
  const mail = { to: newEmail(), subject: 'x', text: 'x' }
  const send = (change: string) => openMailer({ url: url + change, from, logger, wait_ms: 1000 }).send(mail)
  await expect(send('')).rejects.toMatchObject({ code: 'mail_failed' })
  await send('?requireTLS=false')
  expect(lastMail().to).toEqual([mail.to])
})
