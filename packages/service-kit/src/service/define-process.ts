import { AggregatorRegistry, Registry } from 'prom-client'
import { httpSettings, requireAddress, serve } from '../http/serve.ts'
import { environmentOf } from '../settings/part-settings.ts'
import { parseSettings, refuseProblems, type Settings } from '../settings/read-settings.ts'
import { StartRefused } from '../settings/start-refused.ts'
import { traceSettings } from '../traces/open-traces.ts'
import { type Names, neededBindings, type Register, settingsOf } from './define-service.ts'
import type { Trouble } from './health.ts'
import type { Service, ServiceOptions } from './run-service.ts'

/** A service as a part of a process. `partNames` of the settings holds its name. */
interface Part extends Names {
  name: string
  readConfig(env: Environment): object
  open(config: never, service: Service): Promise<Register>
}

const processSettings = [...httpSettings, ...traceSettings, 'TRIBUTARY_PARTS'] as const
type Environment = Record<string, string | undefined>
type Config = Settings<(typeof processSettings)[number]> & { parts: ReadonlyMap<string, object> }

/** A process of several services, for `runService`. */
export interface DefinedProcess<P extends Part = Part> extends ServiceOptions<Config> {
  parts: readonly P[]
}

/**
 * Runs services as parts of one process, or those of them that `TRIBUTARY_PARTS` names. They share its port, its signals
 * and its deadline. Each opens resources of its own with its own credentials, so that none has the rights of another.
 */
export function defineProcess<const P extends Part>({
  name,
  parts,
}: {
  name: string
  parts: readonly P[]
}): DefinedProcess<P> {
  return {
    name,
    parts,
    readConfig: (env) => readConfigs(name, parts, env),
    async start(config, service) {
      await requireAddress(config)
      const running = parts.filter((part) => config.parts.has(part.name))
      const opened = running.map((part) => openPart(part, config.parts.get(part.name) as never, service))
      // All end first: what did open has then added its close.
      await Promise.allSettled(opened)
      const parted = await Promise.all(opened)
      service.troubles.push(() => mergeTroubles(parted))
      const checks = mergeChecks(parted)
      const registry = mergeMetrics([service.registry, ...parted.map((one) => one.registry)])
      return serve(
        config,
        { ...service, checks, registry },
        async (app, health) => {
          for (const { register } of parted) await register(app, health)
        },
        running.flatMap(neededBindings),
      )
    },
  }
}

/** Settings of the process and of each part that it runs; every problem of all of them at once. */
function readConfigs(name: string, parts: readonly Part[], env: Environment): Config {
  const { values, problems } = parseSettings(env, processSettings)
  const chosen = values.TRIBUTARY_PARTS ?? parts.map((part) => part.name)
  const own = parts.map((part) => part.name)
  const foreign = chosen.filter((one) => !own.includes(one))
  if (foreign.length > 0)
    problems.push(`  TRIBUTARY_PARTS: ${foreign.join(', ')} is no part of ${name}, which has ${own.join(', ')}`)
  const running = parts.filter((part) => chosen.includes(part.name))
  for (const part of running) {
    const { settings, required } = settingsOf(part)
    problems.push(...parseSettings(environmentOf(part.name, env), settings, required).problems)
  }
  refuseProblems(problems)
  const configs = running.map((part) => [part.name, part.readConfig(environmentOf(part.name, env))] as const)
  return { ...values, parts: new Map(configs) }
}

interface OpenedPart extends Pick<Service, 'checks' | 'registry' | 'troubles'> {
  register: Register
}

/** Opens a part with checks, troubles and metrics of its own: two parts may have the same engine under different users. */
async function openPart(part: Part, config: never, service: Service): Promise<OpenedPart> {
  const { name } = part
  const own = { checks: {}, troubles: [], registry: new Registry() }
  const logger = service.logger.child({ part: name })
  try {
    return { ...own, register: await part.open(config, { ...service, ...own, name, logger }) }
  } catch (error) {
    if (error instanceof StartRefused) throw new StartRefused(`${name}: ${error.message}`, { cause: error })
    throw error
  }
}

/** A binding of the process is up when it is up for each part that has it. */
function mergeChecks(parts: readonly OpenedPart[]): Service['checks'] {
  const bindings = new Set(parts.flatMap(({ checks }) => Object.keys(checks)))
  const checkAll = (binding: string) => async () =>
    void (await Promise.all(parts.map(({ checks }) => checks[binding]?.())))
  return Object.fromEntries([...bindings].map((binding) => [binding, checkAll(binding)]))
}

/** What is wrong in several parts for the same reason, such as a secret that none can read, is said once. */
const mergeTroubles = (parts: readonly OpenedPart[]): Trouble[] => {
  const all = parts.flatMap(({ troubles }) => troubles.flatMap((look) => look()))
  return [...new Map(all.map((one) => [`${one.code} ${one.message}`, one])).values()]
}

/** Metrics of the process, then those of its parts; what several parts count under the same labels is added up. */
function mergeMetrics([ofProcess, ...ofParts]: readonly Registry[]): Pick<Registry, 'metrics' | 'contentType'> {
  return {
    contentType: ofProcess!.contentType,
    async metrics() {
      const found = await Promise.all(ofParts.map((one) => one.getMetricsAsJSON()))
      const parts = AggregatorRegistry.aggregate(found)
      return `${await ofProcess!.metrics()}\n${await parts.metrics()}`
    },
  }
}
