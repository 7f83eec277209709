import type { Broker } from '@tributary/broker/broker'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { ConsumerDefinition } from '../consumer/define-consumer.ts'
import type { RunConsumerOptions } from '../consumer/run-consumer.ts'
import { startConsumers } from '../consumer/start-consumers.ts'
import { httpSettings, requireAddress, type Serving, serve } from '../http/serve.ts'
import { requireTopics } from '../resources/require-topics.ts'
import { type AnyResource, type Complete, type Opened, openResources, type Resources } from '../resources/resource.ts'
import { readSettings, type Settings } from '../settings/read-settings.ts'
import type { SettingName } from '../settings/settings.ts'
import { StartRefused } from '../settings/start-refused.ts'
import { traceSettings } from '../traces/open-traces.ts'
import { startJobs } from './every.ts'
import type { Health } from './health.ts'
import type { Service, ServiceOptions } from './run-service.ts'
import type { ServiceParts, Surroundings } from './service-parts.ts'
import { createMisfitTroubles } from './troubles/misfit-troubles.ts'
import { createReplayNeeded } from './troubles/replay-needed.ts'

/** A service as a value. Its process, its settings and `/health` follow from it, and tests compare the compose file with it. */
export interface ServiceDeclaration<E extends Resources, Read extends SettingName, Required extends SettingName, Own>
  extends ServiceParts<ServiceContext<E, Read, Required, Own>> {
  /** The keys are the names under which its parts use them. Standalone opens resources of its own under these names. */
  resources: E
  /** Resources without which the service refuses every request: `/ready` is 503 while one of them is down. */
  needs?: readonly (keyof E & string)[]
  /** Settings of its parts; those of its resources and of HTTP are not named here. */
  settings?: readonly Read[]
  /** Settings of its parts without which it does not start. */
  required?: readonly Required[]
  /** Environment variables that are no settings of the product. Their names must not begin with `TRIBUTARY_`. */
  variables?: z.ZodType<Own>
}

/** Parts are built with this: the resources of the service by name, its settings, and the things of every process. */
export type ServiceContext<
  E extends Resources,
  Read extends SettingName,
  Required extends SettingName,
  Own,
> = Opened<E> & Service & Surroundings & { config: Settings<Read, Required> & Own }

type Config = Settings<SettingName, SettingName>

/** A service that `runService` runs as a process of its own, on servers. `crash` is for tests. */
export interface DefinedService<E extends Resources, Read extends SettingName, Required extends SettingName, Own>
  extends ServiceDeclaration<E, Read, Required, Own>,
    ServiceOptions<Config & Own> {
  /** Opens its resources and starts its consumers and jobs. Resolves with what it serves. */
  open(config: Config & Own, service: Service, options?: Pick<RunConsumerOptions<unknown>, 'crash'>): Promise<Register>
  start(config: Config & Own, service: Service, options?: Pick<RunConsumerOptions<unknown>, 'crash'>): Promise<Serving>
}

/** Adds the routes of a service to a process. */
export type Register = (app: FastifyInstance, health: Health) => Promise<void>

/** Only a service that has a broker can have consumers. */
type Consuming<E> = E extends { broker: AnyResource<Broker> } ? unknown : { consumers?: never }

/** Completes the value of a service. An engine or a setting that is used and not declared does not compile. */
export function defineService<
  const E extends Resources,
  Read extends SettingName = never,
  Required extends SettingName = never,
  Own = unknown,
>(
  declared: ServiceDeclaration<E, Read, Required, Own> & { resources: Complete<E> } & Consuming<E>,
): DefinedService<E, Read, Required, Own> {
  const { resources, consumers = [], jobs = [], routes, variables } = declared
  const { settings, required } = settingsOf(declared)
  const open: DefinedService<E, Read, Required, Own>['open'] = async (config, service, options = {}) => {
    const opened = await openResources(resources, config, service)
    const context = { ...opened, ...service, config }
    const definitions = consumers.flatMap((build) => build(context) ?? [])
    if ('broker' in opened) await consume(definitions, { ...service, broker: opened.broker as Broker }, options)
    startJobs(jobs, context)
    return async (app, health) => {
      if (routes !== undefined) await app.register(await routes({ ...context, health }))
    }
  }
  return {
    ...declared,
    readConfig: (env) => ({ ...readSettings(env, settings, required), ...readVariables(env, variables) }),
    open,
    async start(config, service, options) {
      // Listen first: a process whose port is taken would otherwise join a group at each start and move its partitions.
      await requireAddress(config)
      return serve(config, service, await open(config, service, options), neededBindings(declared))
    },
  }
}

/** Runs consumers on a broker that has their topics. */
async function consume(
  consumers: readonly ConsumerDefinition<unknown>[],
  service: Service & { broker: Broker },
  options: Pick<RunConsumerOptions<unknown>, 'crash'>,
): Promise<void> {
  const topics = consumers.map(({ topic }) => topic)
  await requireTopics(service.broker, topics)
  const needed = createReplayNeeded(service)
  const misfits = createMisfitTroubles(needed, { tables_on_server: true })
  service.troubles.push(misfits.troubles, needed.troubles)
  await startConsumers(consumers, service, { misfits, ...options })
}

/** The parts of a declaration that name resources and settings. */
export type Names = Pick<
  ServiceDeclaration<Resources, SettingName, SettingName, unknown>,
  'resources' | 'needs' | 'settings' | 'required'
>

/** All settings that a service reads in a process of its own, and those of them that it can't start without. */
export function settingsOf({ resources, settings = [], required = [] }: Names) {
  const ofResources = Object.values(resources)
  const all = [
    ...httpSettings,
    ...traceSettings,
    ...ofResources.flatMap((engine) => [...engine.settings, ...engine.required]),
    ...settings,
  ]
  return {
    settings: [...new Set<SettingName>([...all, ...required])],
    required: [...new Set<SettingName>([...ofResources.flatMap((engine) => engine.required), ...required])],
  }
}

/** Names in `/health` of the resources without which a service refuses every request. */
export const neededBindings = ({ resources, needs = [] }: Names): string[] =>
  needs.flatMap((name) => resources[name]?.binding ?? [])

function readVariables<Own>(env: Record<string, string | undefined>, variables: z.ZodType<Own> | undefined): Own {
  if (variables === undefined) return {} as Own
  const { success, data, error } = variables.safeParse(env)
  if (!success) throw new StartRefused(`These settings are wrong:\n${z.prettifyError(error)}`)
  return data
}
