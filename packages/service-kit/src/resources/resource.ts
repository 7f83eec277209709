import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import type { SettingName } from '../settings/settings.ts'

/**
 * Something that a process opens once and its parts share: an engine (a database, a log, a store), or what is built on others.
 * It is a value, and a process loads the resources that it names and no others.
 */
export interface Resource<T, Read extends SettingName = never, Required extends SettingName = never, On = unknown> {
  /** Its name in `/health`; absent when it has no check of its own. */
  binding?: string
  settings: readonly Read[]
  /** Settings without which it can't be opened. */
  required: readonly Required[]
  /** Names of the resources that it is built on; it gets those of them that the process has. */
  on?: readonly string[]
  /** Adds its close and its check to the service. Throws `StartRefused` when the engine can't be used as it is. */
  open: (config: Settings<Read, Required>, service: Service, on: On) => Promise<T>
}

/** Any resource with this result. */
export type AnyResource<T = unknown, On = never> = Resource<T, SettingName, SettingName, On>
/** Resources by the names under which the parts of a process use them. */
export type Resources = Readonly<Record<string, AnyResource>>
export type Opened<E extends Resources> = { [Name in keyof E]: Awaited<ReturnType<E[Name]['open']>> }
/** Resources among which each one finds those that it is built on. */
export type Complete<E extends Resources> = { [Name in keyof E]: AnyResource<unknown, Opened<E>> }

/**
 * Opens resources side by side, each one after those that it is built on, which stand before it in the list. All of them
 * end before a failure is passed on, since each one that did open has then added its close. `config` must hold what they
 * require.
 */
export async function openResources<const E extends Resources>(
  resources: E & Complete<E>,
  config: Settings<SettingName>,
  service: Service,
): Promise<Opened<E>> {
  const opening: Record<string, Promise<unknown>> = Object.create(null)
  for (const [name, { on = [], open }] of Object.entries<AnyResource>(resources)) {
    const late = on.find((other) => other in resources && !(other in opening))
    if (late !== undefined) throw new Error(`Resource ${name} is built on ${late}, which must stand before it.`)
    const foundation = on.filter((other) => other in opening)
    opening[name] = awaitAll(opening, foundation).then((opened) =>
      open(config as Settings<SettingName, SettingName>, service, opened as never),
    )
  }
  await Promise.allSettled(Object.values(opening))
  return (await awaitAll(opening, Object.keys(resources))) as Opened<E>
}

async function awaitAll(promises: Record<string, Promise<unknown>>, names: readonly string[]) {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await promises[name]] as const)))
}
