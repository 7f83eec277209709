import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { startApp, tapLink } from '../../../attribution/phone.ts'
import type { Attack, Target } from '../../attack.ts'
import { rest, send } from '../../send.ts'
import { type AttackTenant, makeTenant } from '../../tenants.ts'

const clients = 10
const clicks_per_s = 5
/** Visits the page that embeds the honeypot. */
const reader_ip = '198.51.100.20'
/** Neighbours of a network that the attacker clicks from. */
const neighbour = (n: number) => `203.0.113.${n % 256}`
const person_ip = neighbour(77)
const phone = 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/119.0.0.0 Mobile Safari/537.36'

interface Found {
  faults: string[]
  /** Installs that counted clicks brought. */
  installs: { tenant: AttackTenant; install_uuid: string }[]
}

/** What the attack saw, by the company that it attacks. */
const foundOf = new WeakMap<AttackTenant, Found>()

/** A stranger knows the links of a company, and tries to keep people from its store page and from the counts of others. */
export const lostStorePages: Attack = {
  name: 'lost-store-pages',
  what: `a page has its readers load a honeypot as an image, and ${clicks_per_s} clicks a second come from a /24`,
  expected: ['302', '404 not_found'],
  allowed: [],
  async run(target) {
    const { url, data_dir, attacker: attacked } = target
    const admin_token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
    const other = await makeTenant(url, admin_token, 'Other')
    const { faults, installs }: Found = { faults: [], installs: [] }
    foundOf.set(attacked, { faults, installs })

    async function tap(tenant: AttackTenant, ip: string, what: string, counted: boolean) {
      const { status, referrer } = await tapLink(`${url}${pathOf(tenant.link_id)}`, ip)
      if (status !== 302) faults.push(`${what} was answered ${status}`)
      if ((referrer !== null) !== counted) faults.push(`${what} was ${counted ? 'not counted' : 'counted'}`)
      if (referrer === null) return
      const install_uuid = randomUUID()
      await startApp(url, tenant, { install_uuid, ip, props: { install_referrer: referrer } })
      installs.push({ tenant, install_uuid })
    }

    await open(target, attacked.trap_id, reader_ip, { 'sec-fetch-dest': 'image' })
    await tap(attacked, reader_ip, 'the tap of a reader of the page', true)

    for (let sent = 0; sent < limits.clicks_max; sent += clients) {
      await Promise.all(Array.from({ length: clients }, (_, n) => open(target, attacked.link_id, neighbour(sent + n))))
    }
    await tap(attacked, person_ip, 'a tap from the network beyond its limit', false)
    await tap(other, person_ip, 'a tap from that network on the link of another company', true)
    await open(target, attacked.trap_id, person_ip)
    await tap(attacked, person_ip, 'a tap from an address that opened the honeypot', false)
    await tap(other, person_ip, 'a tap from that address on the link of another company', true)
    for (let n = 0; !target.signal.aborted; n += 1) {
      await open(target, attacked.link_id, neighbour(n))
      await rest(target, 1000 / clicks_per_s)
    }
  },
  async check({ url, attacker }) {
    const { faults, installs } = foundOf.get(attacker)!
    for (const { tenant, install_uuid } of installs) {
      const path = declaredRoutes.getInstall.path.replace(':install_uuid', install_uuid)
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${tenant.report_key}` } })
      const { verdict } = (await answer.json()) as { verdict: { partner: string; fraud_flags: string[] } | null }
      if (verdict?.partner !== 'net') faults.push(`an install with a counted click belongs to ${verdict?.partner}`)
      if (verdict?.fraud_flags.includes('blocked_ip')) faults.push('an install has the flag blocked_ip')
    }
    return faults
  },
}

const pathOf = (link_id: string) => declaredRoutes.followLink.path.replace(':link_id', link_id)

/** The attacker, or a browser that it makes do so, opens a link. */
function open(target: Target, link_id: string, ip: string, more: Record<string, string> = {}) {
  const headers = { 'user-agent': phone, 'x-forwarded-for': ip, ...more }
  return send(target, pathOf(link_id), { method: 'GET', redirect: 'manual', headers })
}
