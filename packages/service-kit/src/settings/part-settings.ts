/** Services that share a process with others. Each keeps its name, its consumer group and its credentials. */
export const partNames = [
  'install-finder',
  'click-writer',
  'install-attributor',
  'install-writer',
  'eraser',
  'reconciler',
  'replayer',
  'retention',
  'settler',
] as const
export type PartName = (typeof partNames)[number]

/** What the name of a setting ends with when it is for one part alone: `TRIBUTARY_POSTGRES_URL__INSTALL_WRITER`. */
const endingOf = (part: string): string => `__${part.toUpperCase().replaceAll('-', '_')}`
const endings = partNames.map(endingOf)

type Environment = Record<string, string | undefined>

/** The environment as one part sees it: a setting for it alone goes before the one for all. */
export function environmentOf(part: string, env: Environment): Environment {
  const ending = endingOf(part)
  const own = Object.entries(env).filter(([name, value]) => name.endsWith(ending) && value)
  return { ...env, ...Object.fromEntries(own.map(([name, value]) => [name.slice(0, -ending.length), value])) }
}

/** The name of a setting without the part that it is for. */
export function withoutPart(name: string): string {
  const ending = endings.find((one) => name.endsWith(one))
  return ending === undefined ? name : name.slice(0, -ending.length)
}
