import { createHash, createHmac, randomUUID } from 'node:crypto'
import { type SdkKeys, startApp, tapLink } from '@tributary/testing/attribution/phone'
import { expect } from 'vitest'

/** Where a person's phone and the backend of an app send to, with the credentials of the app. */
export interface AppToUse {
  gateway_url: string
  link_gateway_url: string
  admin_url: string
  admin_token: string
  app_id: string
  link_id: string
  keys: SdkKeys
  server_key: string
  untilWritten(): Promise<void>
}

export interface Person {
  install_uuid: string
  /** All that stands for the person. */
  needles: Record<string, string>
}

/** Calls the admin API; the text of its answer, which must be 200. */
export async function admin({ admin_url, admin_token }: AppToUse, path: string, body?: object): Promise<string> {
  const headers = { authorization: `Bearer ${admin_token}`, 'content-type': 'application/json' }
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await fetch(`${admin_url}/admin/api/v1/${path}`, {
    ...{ method, headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  expect({ path, status: answer.status, text }).toMatchObject({ status: 200 })
  return text
}

/** Sends a body with the signature of the app, and gives the status of the answer. */
export async function sendSigned({ gateway_url, keys }: AppToUse, path: string, content: object): Promise<number> {
  const body = JSON.stringify(content)
  const headers = {
    ...{ 'content-type': 'application/json', 'x-service-company-key': keys.company_key },
    ...{ 'x-service-app-key': keys.app_key },
    'x-service-signature': createHmac('sha256', keys.signing_secret).update(body).digest('hex'),
  }
  const answer = await fetch(`${gateway_url}${path}`, { method: 'POST', headers, body })
  await answer.arrayBuffer()
  return answer.status
}

/**
 * A person taps a link, installs, buys with a user id, and is billed by the backend; a neighbour of the same network, which is
 * decided with the person's click as a candidate, installs afterwards. Ids are random: nothing else holds them.
 */
export async function livePerson(app: AppToUse, ip: string): Promise<Person> {
  const mark = randomUUID().slice(0, 8)
  const install_uuid = `searched-install-${mark}`
  const gaid = randomUUID()
  const needles: Record<string, string> = {
    ...{ install: install_uuid, user: `searched-user-${mark}`, device: gaid, sub: `searched-sub-${mark}` },
    ...{ props: `searched-prop-${mark}`, transaction: `searched-transaction-${mark}`, event: `searched-event-${mark}` },
    ...{ backend_event: `searched-renewal-${mark}`, device_sha: createHash('sha256').update(gaid).digest('hex') },
  }
  const link = `${app.link_gateway_url}/l/${app.link_id}?gaid=${gaid}&sub1=${needles.sub}`
  expect((await tapLink(link, ip)).status).toBe(302)
  expect(await startApp(app.gateway_url, app.keys, { install_uuid, ip, gaid })).toBe(200)
  await app.untilWritten()
  // The click is a candidate that the neighbour lost.
  expect(await startApp(app.gateway_url, app.keys, { install_uuid: `neighbour-${mark}`, ip })).toBe(200)
  const purchase = {
    ...{ event_id: needles.event, event_name: 'purchase', install_uuid, user_id: needles.user, revenue: 5 },
    ...{ transaction_id: needles.transaction, props: { said: needles.props }, event_ts_ms: Date.now() },
  }
  expect(await sendSigned(app, '/event', { events: [purchase] })).toBe(200)
  const headers = { authorization: `Bearer ${app.server_key}` }
  const renewal = { ...purchase, event_id: needles.backend_event, transaction_id: undefined }
  const sent = await fetch(`${app.gateway_url}/s2s/event`, { method: 'POST', headers, body: JSON.stringify(renewal) })
  expect(sent.status).toBe(200)
  await sent.arrayBuffer()
  await app.untilWritten()
  return { install_uuid, needles: { ...needles, ...(await derivedNeedles(app, install_uuid)) } }
}

/** Texts that the service made for the person: the id of the click, and hashes. */
async function derivedNeedles(app: AppToUse, install_uuid: string): Promise<Record<string, string>> {
  const known = (await admin(app, `installs/${install_uuid}/export?app_id=${app.app_id}`)).trim().split('\n')
  const lines = known.map((line) => JSON.parse(line) as { table?: string; row: Record<string, unknown> })
  const click = lines.find(({ table }) => table === 'clicks_raw_v1')!.row
  return {
    click: String(click.click_id),
    device_hash: (click.click as { device_hashes: string[] }).device_hashes[0]!,
    install_key: String(lines.find(({ table }) => table === 'money_days_v1')!.row.install_key),
  }
}

/** Has the eraser run until it is done. */
export async function eraseAll(app: AppToUse): Promise<void> {
  for (let run = JSON.parse(await admin(app, 'erasures/run', {})); !run.done; )
    run = JSON.parse(await admin(app, 'erasures/run', { run: run.run }))
}

/** The certificate of an erasure. */
export const certificate = (app: AppToUse, install_uuid: string): Promise<string> =>
  admin(app, `erasures?app_id=${app.app_id}&install_uuid=${install_uuid}`)
