import { describeWith } from '../engines/describe-with-engine.ts'
import { type Fleet, type FleetOptions, openFleet } from './fleet.ts'

/** `describe` with a fleet for this test file. Await it at the top of the file; see `describeWithEngine`. */
export const describeWithFleet = (options: FleetOptions, body: (fleet: Fleet) => void): Promise<void> =>
  describeWith('fleet', () => openFleet(options), body)
