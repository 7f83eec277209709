import { findIdleSettings } from './idle-settings.ts'
import { type Setting, type SettingName, type SettingValue, settings } from './settings.ts'
import { StartRefused } from './start-refused.ts'
import { findUnknownSettings } from './unknown-settings.ts'

/** Values by setting name; those that were required are there. */
export type Settings<Name extends SettingName, Required extends SettingName = never> = {
  [N in Name]: SettingValue<N>
} & { [N in Required]: NonNullable<SettingValue<N>> }

type Environment = Record<string, string | undefined>

/**
 * The named settings, read and checked; `required` ones must be set or have a default. Throws `StartRefused` that lists
 * every problem at once, each `TRIBUTARY_` variable among them that nobody knows, or that does nothing alone.
 */
export function readSettings<Name extends SettingName, Required extends SettingName = never>(
  env: Environment,
  names: readonly Name[],
  required: readonly Required[] = [],
): Settings<Name, Required> {
  const { values, problems } = parseSettings(env, names, required)
  refuseProblems(problems)
  return values
}

/** Throws `StartRefused` that lists problems, each once; without one it does nothing. */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new StartRefused(`These settings are wrong:\n${[...new Set(problems)].join('\n')}`)
}

/** The same, with the problems as a value: one line each. Without any, `values` is whole. */
export function parseSettings<Name extends SettingName, Required extends SettingName = never>(
  env: Environment,
  names: readonly Name[],
  required: readonly Required[] = [],
): { values: Settings<Name, Required>; problems: string[] } {
  const problems = findUnknownSettings(env)
  const values: Record<string, unknown> = Object.create(null)
  for (const name of new Set<SettingName>([...names, ...required])) {
    const { meaning, schema, default_text, ...words }: Setting<unknown> = settings[name]
    const given = env[name] === '' ? undefined : env[name]
    const parsed = schema.safeParse(given ?? default_text ?? undefined)
    if (!parsed.success) problems.push(`  ${name}: ${faultOf(given ?? '', words)}`)
    else if (parsed.data === undefined && (required as readonly SettingName[]).includes(name)) {
      problems.push(`  ${name} is needed: ${meaning}`)
    } else values[name] = parsed.data
  }
  problems.push(...findIdleSettings(env))
  return { values: values as Settings<Name, Required>, problems }
}

type Words = Pick<Setting<unknown>, 'must' | 'fault' | 'secret'>

const faultOf = (given: string, { must, fault, secret }: Words): string =>
  fault?.(given) ?? `${show(given, secret)} was given; it must be ${must}`

const shown_chars_max = 100

/** A value in a message: nothing of what may hold a secret, little of what is long. */
function show(value: string, secret: Setting<unknown>['secret']): string {
  if (secret !== undefined) return `a text of ${value.length} characters`
  const cut = value.length > shown_chars_max
  return JSON.stringify(cut ? value.slice(0, shown_chars_max) : value) + (cut ? '...' : '')
}
