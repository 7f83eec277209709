import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { report_path } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { tapLink } from '../../attribution/phone.ts'
import { adminApi } from '../../fuzz/tenants.ts'
import { attacker_ip } from '../addresses.ts'
import type { Attack, Target } from '../attack.ts'
import { inParallel, send, sendSigned } from '../send.ts'
import { makeTenant } from '../tenants.ts'

const click_clients = 20
const install_clients = 8

/** The attacker floods its own link, and runs into its own honeypot. Nobody else's links may notice. */
export const clickFlood: Attack = {
  name: 'click-flood',
  what: `${click_clients} clients click a link from one network and from many, then follow a honeypot link and click again`,
  expected: ['302', '429 rate_limited', '404 not_found', '403 address_blocked'],
  allowed: ['503 unavailable'],
  async run(target) {
    const [link, trap] = await Promise.all([makeLink(target, {}), makeLink(target, { honeypot: true })])
    const click = (path: string, ip: string) =>
      send(target, path, { redirect: 'manual', headers: { 'x-forwarded-for': ip, 'user-agent': 'Android 14' } })
    await Promise.all(Array.from({ length: 600 }, () => click(link, attacker_ip)))
    await click(trap, attacker_ip)
    await inParallel(target, click_clients, async (client) => {
      await click(link, attacker_ip)
      await click(link, `45.${client}.${Math.floor(Math.random() * 250)}.1`)
    })
  },
  async check(target) {
    const bystander = await makeTenant(target.url, adminToken(target), 'Bystander')
    const path = await makeLink({ ...target, attacker: bystander }, {})
    const { status, referrer } = await tapLink(target.url + path, attacker_ip)
    return status === 302 && referrer !== null ? [] : [`a link of another company answered the address ${status}`]
  },
}

/** A partner with the credentials of an app, which every phone has, claims installs that no click brought. */
export const forgedInstalls: Attack = {
  name: 'forged-installs',
  what: 'installs name real clicks with wrong signatures, and one real click over and over',
  expected: ['200'],
  allowed: [],
  async run(target) {
    const link = target.url + (await makeLink(target, {}))
    const { referrer } = await tapLink(link, '198.51.100.99')
    const real = new URLSearchParams(referrer ?? '')
    const forged = new URLSearchParams(real)
    forged.set('tb_click', `${real.get('tb_click')?.slice(0, -12)}0123456789ab`)
    await sendInstall(target, real)
    await inParallel(target, install_clients, (client) => sendInstall(target, client % 2 === 0 ? real : forged))
  },
  async check({ url, attacker }) {
    const headers = { authorization: `Bearer ${attacker.report_key}` }
    const answer = await fetch(`${url}${report_path.replace(':report', 'attribution')}`, { headers })
    const { rows } = (await answer.json()) as { rows: { partner: string; installs: number; fraud_flagged: number }[] }
    const won = rows.filter(({ partner }) => partner === 'attacker').reduce((sum, { installs }) => sum + installs, 0)
    const flagged = rows.reduce((sum, { fraud_flagged }) => sum + fraud_flagged, 0)
    return [
      ...(won === 1 ? [] : [`one click brought ${won} installs`]),
      ...(flagged > 0 ? [] : ['no forged click was flagged']),
    ]
  },
}

function sendInstall(target: Target, referrer: URLSearchParams) {
  const install_uuid = randomUUID()
  const props = { install_referrer: referrer.toString() }
  const events = [{ event_id: 'install', event_name: 'app_install', install_uuid, props }]
  return sendSigned(target, declaredRoutes.sendBatch.path, Buffer.from(JSON.stringify({ events })), false)
}

const adminToken = ({ data_dir }: Target): string => readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()

/** Path of a new link of the attacker. */
async function makeLink(target: Target, more: { honeypot?: boolean }): Promise<string> {
  const input = { app_id: target.attacker.app_id, partner: 'attacker', ...more }
  const { link_id } = await adminApi(target.url, adminToken(target))<{ link_id: string }>('/links', input)
  return `/l/${link_id}`
}
