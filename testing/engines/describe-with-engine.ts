import { afterAll, describe, it } from 'vitest'
import { type EngineName, EngineUnavailable, type OwnEngine, type RunningEngine } from './engine.ts'
import { openEngine, openOwnEngine } from './open-engine.ts'

/**
 * `describe` with a real engine, which is stopped afterwards. Await it at the top of a test file. When the engine is not
 * available, one line names it and its tests count as skipped; with `TRIBUTARY_REQUIRE_ENGINES=1` the run fails.
 */
export const describeWithEngine = (name: EngineName, body: (engine: RunningEngine) => void): Promise<void> =>
  describeWith(name, () => openEngine(name), body)

/** The same with a private engine, which the test may kill and pause. */
export const describeWithOwnEngine = (name: EngineName, body: (engine: OwnEngine) => void): Promise<void> =>
  describeWith(name, () => openOwnEngine(name), body)

/** The same with anything that `open` makes from real engines. */
export async function describeWith<E extends Pick<RunningEngine, 'stop'>>(
  name: string,
  open: () => Promise<E>,
  body: (engine: E) => void,
): Promise<void> {
  try {
    const engine = await open()
    describe(`with a real ${name}`, () => {
      afterAll(() => engine.stop())
      body(engine)
    })
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error
    process.stderr.write(`No ${name} here, its tests are skipped: ${error.message}\n`)
    if (process.env.TRIBUTARY_REQUIRE_ENGINES === '1') {
      it(`has a real ${name}`, () => {
        throw error
      })
    }
    // Collects the tests only to count them. None runs, so none uses the engine.
    describe.skip(`with a real ${name}`, () => body({ url: '' } as unknown as E))
  }
}
