import { createHmac } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { type DoorRequest, events_per_batch } from './bodies.ts'

/** Events per CPU second of one thread that only does what no gateway can leave out: HMAC, gunzip, parse, stringify. */
export function measureFloor(requests: readonly DoorRequest[], seconds: number): number {
  const handle = ({ app, body }: DoorRequest) => {
    createHmac('sha256', app.signing_secret).update(body).digest('hex')
    return JSON.stringify(JSON.parse(gunzipSync(body).toString('utf8'))).length
  }
  for (const request of requests) handle(request)
  const before = process.cpuUsage()
  const end = performance.now() + seconds * 1000
  let batches = 0
  while (performance.now() < end) {
    handle(requests[batches % requests.length]!)
    batches += 1
  }
  const { user, system } = process.cpuUsage(before)
  return (batches * events_per_batch) / ((user + system) / 1e6)
}
