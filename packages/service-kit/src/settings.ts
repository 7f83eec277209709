import { z } from 'zod'
import { StartRefused } from './run-service.ts'

export interface Setting<T> {
  meaning: string
  schema: z.ZodType<T>
  /** Text of the default, as one would write it in the environment; null: there is none. */
  default_text: string | null
  secret?: boolean
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition
const port = z.coerce.number().int().min(0).max(65_535)
const text = z.string().min(1)
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

/** Every setting of the product; `tributary config` prints this list (commands.md "Settings"). */
export const settings = {
  TRIBUTARY_PORT: setting({ meaning: 'port to listen on; 0 takes a free one', schema: port, default_text: '8080' }),
  TRIBUTARY_HOST: setting({ meaning: 'address to listen on', schema: text, default_text: '127.0.0.1' }),
  TRIBUTARY_DATA_DIR: setting({
    meaning: 'folder of the embedded engines, keys and audit objects',
    schema: text,
    default_text: './.tributary',
  }),
  TRIBUTARY_ADMIN_TOKEN: setting({
    meaning: 'bearer token of the admin API; standalone makes one in the data folder',
    schema: z.string().min(8, 'needs at least 8 characters').optional(),
    default_text: null,
    secret: true,
  }),
  TRIBUTARY_MASTER_KEY: setting({
    meaning: '32 bytes in base64 that encrypt signing secrets; standalone makes one in the data folder',
    schema: z
      .string()
      .refine((value) => Buffer.from(value, 'base64').length === 32, 'needs 32 bytes in base64')
      .optional(),
    default_text: null,
    secret: true,
  }),
  TRIBUTARY_TRUSTED_PROXIES: setting({
    meaning: 'addresses or CIDR ranges, by comma, whose X-Forwarded-For is believed',
    schema: list,
    default_text: '',
  }),
  TRIBUTARY_LOG_LEVEL: setting({
    meaning: 'trace, debug, info, warn, error or silent',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    default_text: 'info',
  }),
}

export type SettingName = keyof typeof settings
type ValueOf<Name extends SettingName> = z.infer<(typeof settings)[Name]['schema']>

/** The named settings, read and checked. Throws `StartRefused` that lists every problem at once. */
export function readSettings<Name extends SettingName>(
  env: Record<string, string | undefined>,
  names: readonly Name[],
): { [N in Name]: ValueOf<N> } {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const { schema, default_text } = settings[name]
    const given = env[name] === '' ? undefined : env[name]
    const parsed = schema.safeParse(given ?? default_text ?? undefined)
    if (parsed.success) values[name] = parsed.data
    else problems.push(`  ${name}: ${parsed.error.issues.map(({ message }) => message).join('; ')}`)
  }
  if (problems.length > 0) throw new StartRefused(`These settings are wrong:\n${problems.join('\n')}`)
  return values as { [N in Name]: ValueOf<N> }
}
