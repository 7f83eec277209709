import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import type { SettingName } from '../settings/settings.ts'

/**
 * Something that a process opens once and its parts share: an adapter on a server, or what is built on other engines.
 * It is a value, and a process loads the engines that it names and no others.
 */
export interface Engine<T, Read extends SettingName = never, Required extends SettingName = never, On = unknown> {
  /** Its name in `/health`; absent when it has no check of its own. */
  binding?: string
  settings: readonly Read[]
  /** Settings without which it can't be opened. */
  required: readonly Required[]
  /** Names of the engines that it is built on; it gets those of them that the process has. */
  on?: readonly string[]
  /** Adds its close and its check to the service. Throws `StartRefused` when the engine can't be used as it is. */
  open: (config: Settings<Read, Required>, service: Service, on: On) => Promise<T>
}

/** Any engine with this result. */
export type AnyEngine<T = unknown, On = never> = Engine<T, SettingName, SettingName, On>
/** Engines by the names under which the parts of a process use them. */
export type Engines = Readonly<Record<string, AnyEngine>>
export type Opened<E extends Engines> = { [Name in keyof E]: Awaited<ReturnType<E[Name]['open']>> }
/** Engines among which each one finds those that it is built on. */
export type Complete<E extends Engines> = { [Name in keyof E]: AnyEngine<unknown, Opened<E>> }

/**
 * Opens engines side by side, each one after those that it is built on, which stand before it in the list. All of them
 * end before a failure is passed on, since each one that did open has then added its close. `config` must hold what they
 * require.
 */
export async function openEngines<const E extends Engines>(
  engines: E & Complete<E>,
  config: Settings<SettingName>,
  service: Service,
): Promise<Opened<E>> {
  const opening: Record<string, Promise<unknown>> = Object.create(null)
  for (const [name, { on = [], open }] of Object.entries<AnyEngine>(engines)) {
    const late = on.find((other) => other in engines && !(other in opening))
    if (late !== undefined) throw new Error(`Engine ${name} is built on ${late}, which must stand before it.`)
    const foundation = on.filter((other) => other in opening)
    opening[name] = awaitAll(opening, foundation).then((opened) =>
      open(config as Settings<SettingName, SettingName>, service, opened as never),
    )
  }
  await Promise.allSettled(Object.values(opening))
  return (await awaitAll(opening, Object.keys(engines))) as Opened<E>
}

async function awaitAll(promises: Record<string, Promise<unknown>>, names: readonly string[]) {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await promises[name]] as const)))
}
