import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ErasureRun } from '@tributary/contracts/admin/erasures'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { adminApi } from '../../fuzz/tenants.ts'
import type { Attack, Target } from '../attack.ts'
import { rest, sendSigned } from '../send.ts'

const adminOf = ({ url, data_dir }: Target) => adminApi(url, readFileSync(join(data_dir, 'admin-token'), 'utf8').trim())

const installs = 5
const batch_events = 500
/** Batches of a second that the attack lasts, at most `batches_max`. */
const batches_a_second = 2
const batches_max = 80

/** A company erases what event-writer has still to read, and what takes the eraser many batches. */
export const erasureBehindBacklog: Attack = {
  name: 'erasure-behind-backlog',
  what: `the erasure of ${installs} installs with up to ${batches_max * batch_events} events that are still being written`,
  expected: ['200', '202'],
  allowed: [],
  erases: true,
  async run(target) {
    await sendBacklog(target)
    const uuids = Array.from({ length: installs }, (_, n) => `burden-${n}`)
    await Promise.all(uuids.map((install_uuid) => requestErasure(target, install_uuid)))
    await adminOf(target)('/erasures/run')
    await rest(target, target.seconds * 1000)
  },
  ordinary: sendBacklog,
}

async function sendBacklog(target: Target): Promise<void> {
  let left = Math.min(batches_max, batches_a_second * target.seconds)
  const client = async (n: number) => {
    while (left > 0) {
      left -= 1
      await send(n)
    }
  }
  const send = (n: number) => {
    const events = Array.from({ length: batch_events }, () => ({
      ...{ event_id: randomUUID(), event_name: 'level_up', install_uuid: `burden-${n}` },
      event_ts_ms: Date.now(),
    }))
    return sendSigned(target, declaredRoutes.sendBatch.path, Buffer.from(JSON.stringify({ events })), false)
  }
  await Promise.all(Array.from({ length: installs }, (_, n) => client(n)))
}

const pause_ms = 500
/** Maximum time of a run beside the requests, which are erased in the next one. */
const run_ms_max = 60_000

/** A company asks for one erasure after the other, so that a run of the eraser never has all. */
export const deletionsWithoutEnd: Attack = {
  name: 'deletions-without-end',
  what: 'two erasure requests a second of one company, until a run of the eraser that has begun with one of them ends',
  expected: ['202'],
  allowed: ['429 rate_limited'],
  erases: true,
  async run(target) {
    const until_ms = Date.now() + Math.max(run_ms_max, target.seconds * 1000)
    await requestErasure(target, randomUUID())
    let ended = false
    const run = untilEnded(target).then(() => {
      ended = true
    })
    while (!(ended && target.signal.aborted) && Date.now() < until_ms) {
      await requestErasure(target, randomUUID())
      await pause(pause_ms)
    }
    if (!ended) endless.add(target)
    await run
  },
  check: async (target) => (endless.has(target) ? [`a run of the eraser went on for ${run_ms_max} ms`] : []),
}

const endless = new WeakSet<Target>()

async function untilEnded(target: Target): Promise<void> {
  const admin = adminOf(target)
  for (let run = await admin<ErasureRun>('/erasures/run'); !run.done; )
    run = await admin<ErasureRun>('/erasures/run', { run: run.run })
}

const requestErasure = (target: Target, install_uuid: string) =>
  sendSigned(target, declaredRoutes.askForErasure.path, Buffer.from(JSON.stringify({ install_uuid })), false)
