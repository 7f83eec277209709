import { describeWith } from '../engines/describe-with-engine.ts'
import { type Fleet, type FleetOptions, openFleet } from './fleet.ts'

/** `describe` against a fleet of this test file's own; to be awaited at the top, see `describeWithEngine`. */
export const describeWithFleet = (options: FleetOptions, body: (fleet: Fleet) => void): Promise<void> =>
  describeWith('fleet', () => openFleet(options), body)
