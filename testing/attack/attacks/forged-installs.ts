import { randomUUID } from 'node:crypto'
import { report_path } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { tapLink } from '../../attribution/phone.ts'
import type { Attack, Target } from '../attack.ts'
import { inParallel, sendSigned } from '../send.ts'

const clients = 8

/** A partner with the credentials of an app, which every phone has, claims installs that no click brought. */
export const forgedInstalls: Attack = {
  name: 'forged-installs',
  what: 'installs name real clicks with wrong signatures, and one real click over and over',
  expected: ['200'],
  allowed: [],
  async run(target) {
    const link = target.url + declaredRoutes.followLink.path.replace(':link_id', target.attacker.link_id)
    const { referrer } = await tapLink(link, '198.51.100.99')
    const real = new URLSearchParams(referrer ?? '')
    const forged = new URLSearchParams(real)
    forged.set('tb_click', `${real.get('tb_click')?.slice(0, -12)}0123456789ab`)
    await sendInstall(target, real)
    await inParallel(target, clients, (client) => sendInstall(target, client % 2 === 0 ? real : forged))
  },
  async check({ url, attacker }) {
    const headers = { authorization: `Bearer ${attacker.report_key}` }
    const answer = await fetch(`${url}${report_path.replace(':report', 'attribution')}`, { headers })
    const { rows } = (await answer.json()) as { rows: { partner: string; installs: number; fraud_flagged: number }[] }
    const won = rows.filter(({ partner }) => partner !== 'organic').reduce((sum, { installs }) => sum + installs, 0)
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
