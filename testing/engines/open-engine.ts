import type { EngineName, OwnEngine, Recipe, RunningEngine } from './engine.ts'
import { startOwnEngine } from './own-engine.ts'
import { clickhouse } from './servers/clickhouse-http.ts'
import { dockerAnswers, startContainer } from './servers/container.ts'
import { kafka } from './servers/kafka.ts'
import { postgres } from './servers/postgres.ts'
import { redis } from './servers/redis.ts'
import { s3 } from './servers/s3.ts'

const recipes: Record<EngineName, Recipe> = { kafka, redis, s3, clickhouse, postgres }

/**
 * Opens a real engine: the one at `TRIBUTARY_TEST_<NAME>_URL`, else a container when Docker answers and has the image,
 * else a local install. Throws `EngineUnavailable` when none of them works.
 */
export async function openEngine(name: EngineName): Promise<RunningEngine> {
  const recipe = recipes[name]
  const given = process.env[recipe.variable]
  if (given) return { url: given, origin: recipe.variable, stop: async () => {} }
  if (await dockerAnswers()) {
    try {
      return await startContainer(recipe)
    } catch (error) {
      process.stderr.write(`No container of ${recipe.container.image}; using a local install: ${String(error)}\n`)
    }
  }
  return startOwnEngine(recipe)
}

/** Opens a private engine that the caller may kill and pause; always a local install. */
export const openOwnEngine = (name: EngineName): Promise<OwnEngine> => startOwnEngine(recipes[name])

/** Throws `EngineUnavailable` where `openOwnEngine` would for want of an install; for tests whose command opens its own. */
export const installEngines = (names: readonly EngineName[]): Promise<unknown> =>
  Promise.all(names.map((name) => recipes[name].install()))
