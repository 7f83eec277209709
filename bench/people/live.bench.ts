import { randomUUID } from 'node:crypto'
import { type ClientRequest, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { openFleet } from '@tributary/testing/fleet/fleet'
import { type Bench, type BenchRow, numberArgument } from '../bench.ts'
import { buildRequests } from '../door/bodies.ts'
import { sendPacedLoad } from '../door/load.ts'
import { cpuSeconds } from '../process/process-cost.ts'

/** The gateway learns within a second who watches, and forgets in three. */
const settle_ms = 4000
const crowd = 500
const more_percent_max = 3

/** Measures a gateway of the fleet while nobody, one and 500 people watch its app, in turns. */
export const bench: Bench = {
  name: 'live',
  title:
    'live: CPU of a gateway per event with no, 1 and 500 viewers of its app, at the same rate (--rate 2000 --seconds 8 --rounds 3)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 8)
    const fleet = await openFleet({ gateways: 1 })
    try {
      const token = randomUUID()
      const admin = await fleet.startService('admin-api', { env: { TRIBUTARY_ADMIN_TOKEN: token } })
      const gateway = fleet.gateways[0]!
      const requests = buildRequests(fleet.tenants, 400)
      const rate = numberArgument(args, 'rate', 2000)
      const load = () => sendPacedLoad(Number(new URL(gateway.url).port), requests, rate, seconds)
      const { app_id } = fleet.tenants[0]!
      await load()
      const rounds: Round[] = []
      for (let round = 0; round < numberArgument(args, 'rounds', 3); round += 1)
        for (const viewers of [0, 1, crowd]) {
          const streams = await watch(`${admin.url}/admin/api/v1/apps/${app_id}/live`, token, viewers)
          await pause(settle_ms)
          const before = [cpuSeconds(gateway.pid()), cpuSeconds(admin.pid())] as const
          const { acknowledged } = await load()
          const gateway_s = cpuSeconds(gateway.pid()) - before[0]
          await pause(settle_ms)
          const admin_s = (cpuSeconds(admin.pid()) - before[1]) / seconds
          rounds.push({ viewers, acknowledged, gateway_s, admin_s, ...streams.counted() })
          streams.close()
        }
      return judge(rounds)
    } finally {
      await fleet.stop()
    }
  },
}

interface Round {
  viewers: number
  acknowledged: number
  gateway_s: number
  admin_s: number
  /** What the first viewer was shown, and what it was said to miss. */
  shown: number
  gap: number
}

function judge(rounds: readonly Round[]) {
  const rows: (BenchRow & { us: number })[] = [0, 1, crowd].map((viewers) => {
    const all = rounds.filter((round) => round.viewers === viewers)
    const sum = (pick: (round: Round) => number) => all.reduce((total, round) => total + pick(round), 0)
    const us = Math.round((sum(({ gateway_s }) => gateway_s) * 1e8) / sum(({ acknowledged }) => acknowledged)) / 100
    const admin_core_percent = Math.round((sum(({ admin_s }) => admin_s) * 100) / all.length)
    return { viewers, us, admin_core_percent, shown: sum(({ shown }) => shown), gap: sum(({ gap }) => gap) }
  })
  const more = Math.round((rows[2]!.us / rows[0]!.us - 1) * 1000) / 10
  const lost = rounds
    .filter(({ viewers }) => viewers > 0)
    .reduce((sum, { acknowledged, shown, gap }) => sum + Math.abs(acknowledged - shown - gap), 0)
  return {
    rows,
    aims: [
      {
        what: 'CPU of the gateway per event, 500 viewers against none, percent more',
        aim: `<= ${more_percent_max}`,
        measured: more,
        met: more <= more_percent_max,
      },
      { what: 'acknowledged - shown - gap', aim: '0', measured: lost, met: lost === 0 },
    ],
  }
}

/** Opens so many streams; the first one is read, the others are thrown away. */
async function watch(url: string, token: string, viewers: number) {
  let text = ''
  const headers = { authorization: `Bearer ${token}` }
  const open = (index: number) =>
    new Promise<ClientRequest>((resolve, reject) => {
      const asked = get(url, { headers, agent: false }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`answered ${answer.statusCode}`))
        answer.on('error', () => {})
        if (index > 0) answer.resume()
        else
          answer.setEncoding('utf8').on('data', (part) => {
            text += part
          })
        resolve(asked)
      })
      asked.on('error', reject)
    })
  const all = await Promise.all(Array.from({ length: viewers }, (_, index) => open(index)))
  return {
    counted() {
      const counted = { shown: 0, gap: 0 }
      for (const part of text.split('\n\n')) {
        if (!part.startsWith('data: ')) continue
        const message = JSON.parse(part.slice(6)) as LiveMessage
        if (message.kind === 'gap') counted.gap += message.gap
        else counted.shown += 1
      }
      return counted
    },
    close() {
      for (const one of all) one.destroy()
    },
  }
}
