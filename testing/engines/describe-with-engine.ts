import { afterAll, describe, it } from 'vitest'
import { type EngineName, EngineUnavailable, type OwnEngine, type RunningEngine } from './engine.ts'
import { openEngine, openOwnEngine } from './open-engine.ts'

/**
 * `describe` against a real engine, which is stopped at its end; to be awaited at the top of a test file. An engine that
 * can't be had is named on one line and its tests count as skipped; with `TRIBUTARY_REQUIRE_ENGINES=1` the run fails.
 */
export const describeWithEngine = (name: EngineName, body: (engine: RunningEngine) => void): Promise<void> =>
  describeWith(name, () => openEngine(name), body)

/** The same against an engine of the test's own, whose failures it may play. */
export const describeWithOwnEngine = (name: EngineName, body: (engine: OwnEngine) => void): Promise<void> =>
  describeWith(name, () => openOwnEngine(name), body)

/** The same against whatever `open` makes of real engines. */
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
    // Collected for the count only: nothing of it runs, so nothing of the engine is asked for.
    describe.skip(`with a real ${name}`, () => body({ url: '' } as unknown as E))
  }
}
