import { limits } from '@tributary/contracts/limits'
import type { Gate } from '@tributary/service-kit/service/disk-watch'
import type { FastifyInstance } from 'fastify'
import { boundInFlight, type InFlightLimits } from './bodies/in-flight.ts'
import { refuseWhenFull } from './bodies/refuse-when-full.ts'
import { type Observers, observeRequests } from './observe-requests.ts'

export interface DoorDeps extends Observers {
  now: () => number
  /** Clock of `Service`; `performance.now` when absent. */
  elapsed?: () => number
  /** `limits` when absent. */
  in_flight?: InFlightLimits
  /** Closed while the disk is full; open when absent. */
  disk?: Pick<Gate, 'open'>
  /** Name of `BoundOptions`. */
  strangers?: string
}

const inFlightDefault: InFlightLimits = {
  requests_max: limits.requests_in_flight_max,
  body_bytes_max: limits.body_bytes_in_flight_max,
}

/**
 * Prepares `app` for the routes of a public gateway, which are added afterwards. Each request is counted and logged
 * once, refused while the disk is full, and bounded in number, memory and time. The routes check who may send
 * (`requireServerKey`, or `requireAuthHeaders` with `identifySdk`) and store with `makeDurable`.
 */
export function openDoor(app: FastifyInstance, deps: DoorDeps): void {
  // Ingestion does not check `Content-Type` (docs/rules.md#bodies). fastify would refuse a malformed one.
  app.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = undefined // to delete it would slow down every later read of a header
    done()
  })
  observeRequests(app, deps)
  if (deps.disk) refuseWhenFull(app, deps.disk)
  const { in_flight = inFlightDefault, registry, elapsed = () => performance.now(), strangers } = deps
  boundInFlight(app, { in_flight, registry, elapsed, strangers })
}
