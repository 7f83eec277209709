import { createPublicKey } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { type PostgresService, serviceRoles } from '@tributary/postgres/service-roles'
import { z } from 'zod'
import { isNetwork } from '../http/client-address.ts'
import { type PartName, partNames } from './part-settings.ts'

/** A kind of values: its schema and its error message. */
export interface Kind<T> {
  schema: z.ZodType<T>
  /** The rule for a value, in words that follow "it must be". */
  must: string
  /** The fault of a refused text, where `must` alone does not show it. */
  fault?: (text: string) => string
}

/** A setting without a value is undefined. */
export const optional = <T>({ schema, must }: Kind<T>): Kind<T | undefined> => ({ schema: schema.optional(), must })

/** A whole number between two bounds, both inclusive. */
export const whole = (min: number, max: number): Kind<number> => ({
  schema: z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max),
  must: `a whole number from ${min} to ${max}`,
})

/** A share, from none to all. */
export const ratio: Kind<number> = {
  schema: z
    .string()
    .regex(/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/)
    .transform(Number),
  must: 'a number from 0 to 1 such as 0.01',
}

const text_chars_max = 4096
const lineOfText = z
  .string()
  .max(text_chars_max)
  .regex(/^[^\p{Cc}]+$/u)

/** One line of text. */
export const text: Kind<string> = {
  schema: lineOfText,
  must: `text of at most ${text_chars_max} characters without a line break`,
}

/** One of these words. */
export const choice = <const Values extends readonly [string, ...string[]]>(
  ...values: Values
): Kind<Values[number]> => ({
  schema: z.enum(values),
  must: `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
})

/** true or false. */
export const flag: Kind<boolean> = {
  schema: z.enum(['true', 'false']).transform((value) => value === 'true'),
  must: 'true or false',
}

const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

const isAddress = (value: string, schemes: readonly string[]): boolean =>
  URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1))
const beginning = (schemes: readonly string[]): string => schemes.map((scheme) => `${scheme}://`).join(' or ')

/** A URL with one of these schemes. */
export const address = (...schemes: string[]): Kind<string> => ({
  schema: lineOfText.refine((value) => isAddress(value, schemes)),
  must: `an address that begins with ${beginning(schemes)}`,
})

/** An address that people see. */
export const shownAddress: Kind<string> = {
  schema: lineOfText.refine((value) => {
    const { username, password } = isAddress(value, ['https', 'http'])
      ? new URL(value)
      : { username: 'none', password: '' }
    return username === '' && password === ''
  }),
  must: 'an address that begins with https:// or http://, without user and password',
}

/** A public key of P-256 as base64 of SubjectPublicKeyInfo (RFC 5480). */
export const publicKey: Kind<string> = {
  schema: lineOfText.refine((value) => {
    try {
      const key = createPublicKey({ key: Buffer.from(value, 'base64'), format: 'der', type: 'spki' })
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    } catch {
      return false
    }
  }),
  must: 'a public key of P-256, base64 of SubjectPublicKeyInfo',
}

/** A URL whose answer nobody on the way can change. `fetch` takes none with a user, and its error would tell the password. */
export const keySetAddress: Kind<string> = {
  schema: lineOfText.refine((value) => {
    const { hostname, username, password } = isAddress(value, ['https', 'http']) ? new URL(value) : noAddress
    return username === '' && password === '' && (isAddress(value, ['https']) || isLoopback(hostname))
  }),
  must: 'an address that begins with https://, or with http:// and names this machine; without user and password',
}
const noAddress = { hostname: '', username: '', password: '' }
const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host)

/** Addresses of mail, separated by commas. None has a quote or a blank, so none is two. */
export const mailAddresses: Kind<string[]> = {
  schema: list.refine(
    (items) =>
      items.length <= limits.attention_addresses_max &&
      items.every((item) => /^[^\s"(),:;<>@[\\\]\p{C}]{1,64}@[a-z0-9.-]{1,253}$/iu.test(item)),
  ),
  must: `at most ${limits.attention_addresses_max} addresses such as ops@example.com, by comma`,
}

/** URLs with one of these schemes, separated by commas. */
export const addresses = (...schemes: string[]): Kind<string> => ({
  schema: lineOfText.refine((value) => value.split(',').every((one) => isAddress(one, schemes))),
  must: `addresses that begin with ${beginning(schemes)}, by comma`,
})

/** IP addresses and CIDR ranges, separated by commas. */
export const networks: Kind<string[]> = {
  schema: list.refine((items) => items.every(isNetwork)),
  fault: (given) => {
    const wrong = list.parse(given).filter((item) => !isNetwork(item))
    return `${wrong.map((item) => JSON.stringify(item)).join(', ')} is no address or CIDR range such as 10.0.0.7, 10.0.0.0/8 or fd00::/8`
  },
  must: 'addresses or CIDR ranges such as 10.0.0.7, 10.0.0.0/8 or fd00::/8, by comma',
}

/** One or more host:port, separated by commas. */
export const brokers: Kind<string[]> = {
  schema: list.refine((items) => items.length > 0 && items.every((item) => /^.+:\d{1,5}$/.test(item))),
  must: 'host:port, or several of them by comma',
}

/** A bearer token that is long enough to resist guesses. */
export const token: Kind<string> = {
  schema: lineOfText.min(limits.admin_token_chars_min),
  must: `text of at least ${limits.admin_token_chars_min} characters without a line break, as of: openssl rand -hex 32`,
}

/** An AES-256 key in base64. */
export const masterKey: Kind<string> = {
  schema: z.string().refine((value) => Buffer.from(value, 'base64').length === 32),
  must: '32 bytes in base64, as of: openssl rand -base64 32',
}

/** A name that SQL can hold without quotes. */
export const word: Kind<string> = { schema: z.string().regex(/^\w{1,256}$/), must: 'letters, digits and _ only' }

/** One password for each PostgreSQL role of a service. */
export const rolePasswords: Kind<Partial<Record<PostgresService, string>>> = {
  schema: list
    .refine((items) =>
      items.every((item) => /^[^=]+=[!-~]{16,}$/.test(item) && Object.hasOwn(serviceRoles, item.split('=')[0]!)),
    )
    .transform((items) =>
      Object.fromEntries(items.map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)])),
    ),
  must: `service=password, by comma; services are ${Object.keys(serviceRoles).join(', ')}, passwords have 16 visible ASCII characters at least`,
}

/** Parts of a process, by comma. */
export const parts: Kind<PartName[]> = {
  schema: list
    .refine((items): items is PartName[] => items.length > 0 && items.every((item) => names.includes(item)))
    .transform((items) => items as PartName[]),
  must: `names of parts, by comma: ${partNames.join(', ')}`,
}
const names: readonly string[] = partNames

/** Headers of requests to a server, as OpenTelemetry writes them: percent-encoded values. */
export const requestHeaders: Kind<Record<string, string>> = {
  schema: list
    .refine((items) => items.every((item) => /^[!#$%&'*+.^`|~\w-]+\s*=[!-~ ]*$/.test(item) && isEncoded(item)))
    .transform((items) =>
      Object.fromEntries(
        items.map((item) => {
          const at = item.indexOf('=')
          return [item.slice(0, at).trim(), decodeURIComponent(item.slice(at + 1).trim())]
        }),
      ),
    ),
  must: 'name=value, by comma, with a percent-encoded value, as in authorization=Bearer%20abc',
}
const isEncoded = (value: string): boolean => {
  try {
    return /^[^\p{Cc}]*$/u.test(decodeURIComponent(value))
  } catch {
    return false
  }
}

/** Host names without a port, separated by commas. */
export const hostNames: Kind<string[]> = {
  schema: list.refine((items) =>
    items.every((item) => URL.canParse(`http://${item}`) && new URL(`http://${item}`).host === item),
  ),
  must: 'names such as tributary.example.com, by comma, in lower case, without a port',
}
