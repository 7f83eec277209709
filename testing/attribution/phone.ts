import { createHmac } from 'node:crypto'

/** The credentials of an app's SDK. */
export interface SdkKeys {
  company_key: string
  app_key: string
  signing_secret: string
}

const agent =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.122 Mobile Safari/537.36'

export interface Tap {
  status: number
  /** What Play will give to the app; null when the answer leads nowhere that attributes. */
  referrer: string | null
}

/** An Android phone taps a link. `ip`: its address, which the service believes from a trusted proxy. */
export async function tapLink(link_url: string, ip: string): Promise<Tap> {
  const headers = { 'user-agent': agent, 'x-forwarded-for': ip }
  const answer = await fetch(link_url, { headers, redirect: 'manual' })
  await answer.arrayBuffer()
  const location = answer.headers.get('location')
  return { status: answer.status, referrer: location === null ? null : new URL(location).searchParams.get('referrer') }
}

export interface PhoneInstall {
  install_uuid: string
  ip: string
  props?: Record<string, unknown>
  /** Default: an id of its own. */
  gaid?: string
}

/** The first start of the app on such a phone: one signed batch with `app_install`. Returns the status of the answer. */
export async function startApp(url: string, keys: SdkKeys, { install_uuid, ip, props = {}, gaid }: PhoneInstall) {
  const device = { os: 'android', os_version: '14', model: 'Pixel 8', gaid: gaid ?? install_uuid }
  const event = { event_id: 'install', event_name: 'app_install', install_uuid, props, device }
  const body = JSON.stringify({ sent_at_ms: Date.now(), events: [event] })
  const headers = {
    ...{ 'content-type': 'application/json', 'x-forwarded-for': ip },
    ...{ 'x-service-company-key': keys.company_key, 'x-service-app-key': keys.app_key },
    'x-service-signature': createHmac('sha256', keys.signing_secret).update(body).digest('hex'),
  }
  const answer = await fetch(`${url}/event`, { method: 'POST', headers, body })
  await answer.arrayBuffer()
  return answer.status
}
