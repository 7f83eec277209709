import { StartRefused } from './run-service.ts'
import { type SettingName, type SettingValue, settings } from './settings.ts'
import { findUnknownSettings } from './unknown-settings.ts'

/** Values by setting name; those that were required are there. */
export type Settings<Name extends SettingName, Required extends SettingName = never> = {
  [N in Name]: SettingValue<N>
} & { [N in Required]: NonNullable<SettingValue<N>> }

type Environment = Record<string, string | undefined>

/**
 * The named settings, read and checked; `required` ones must be set or have a default. Throws `StartRefused` that lists
 * every problem at once, each `TRIBUTARY_` variable that nobody knows among them.
 */
export function readSettings<Name extends SettingName, Required extends SettingName = never>(
  env: Environment,
  names: readonly Name[],
  required: readonly Required[] = [],
): Settings<Name, Required> {
  const problems = findUnknownSettings(env)
  const values: Record<string, unknown> = {}
  for (const name of new Set<SettingName>([...names, ...required])) {
    const { meaning, schema, default_text } = settings[name]
    const given = env[name] === '' ? undefined : env[name]
    const parsed = schema.safeParse(given ?? default_text ?? undefined)
    if (!parsed.success) problems.push(`  ${name}: ${parsed.error.issues.map(({ message }) => message).join('; ')}`)
    else if (parsed.data === undefined && (required as readonly SettingName[]).includes(name)) {
      problems.push(`  ${name} is needed: ${meaning}`)
    } else values[name] = parsed.data
  }
  if (problems.length > 0) throw new StartRefused(`These settings are wrong:\n${problems.join('\n')}`)
  return values as Settings<Name, Required>
}
