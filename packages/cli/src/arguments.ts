import { accessSync, constants, statSync } from 'node:fs'
import { day_ms } from '@tributary/contracts/limits'
import { isTimeWithoutZone } from '@tributary/domain/accept/fault-message'
import { InvalidArgumentError } from 'commander'
import { CliError } from './errors.ts'

/** Reads an option value as a whole number from 0. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

/** Reads an option value as a whole number from 0 to `max`. */
export const wholeNumberUpTo = (max: number) => (text: string) => {
  const value = wholeNumber(text)
  if (value > max) throw new InvalidArgumentError(`It must be a whole number from 0 to ${max}.`)
  return value
}

/** Reads an option value as seconds from 0; fractions are allowed. */
export function seconds(text: string): number {
  if (!/^\d{1,7}(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.')
  return Number(text)
}

/** The forms of `instant`, for `--help`. */
export const instant_forms = 'YYYY-MM-DD or 7d, today, yesterday (midnight UTC), ISO time or Unix ms'

/**
 * Reads an option value as Unix ms: `YYYY-MM-DD` (UTC midnight), an ISO time with its zone, Unix ms, or a day that counts back from
 * today: `7d` is the midnight UTC that began the day a week ago.
 */
export const instant = (text: string): number => instantAt(text, Date.now())

const day_names = new Map([
  ['today', '0'],
  ['yesterday', '1'],
])

/** The same at a time. */
export function instantAt(text: string, now_ms: number): number {
  const days = day_names.get(text) ?? /^(\d{1,4})d$/.exec(text)?.[1]
  if (days !== undefined) return (Math.floor(now_ms / day_ms) - Number(days)) * day_ms
  if (/^-?\d{5,16}$/.test(text) || text === '0') return Number(text)
  const is_time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const at_ms = is_time ? Date.parse(text) : Number.NaN
  if (isTimeWithoutZone(text))
    throw new InvalidArgumentError('The time has no zone: add Z for UTC, or an offset such as +02:00.')
  // Date.parse reads February 31 as a day in March.
  const same_day = !Number.isNaN(at_ms) && (text.length > 10 || new Date(at_ms).toISOString().startsWith(text))
  if (!same_day)
    throw new InvalidArgumentError(
      'It must be YYYY-MM-DD, an ISO time with its zone, Unix milliseconds, today, yesterday, or days back such as 7d.',
    )
  return at_ms
}

/** Reads an argument as the path of a readable file. Throws CliError `not_a_file` for a folder, else the error of the system. */
export function readableFile(path: string): string {
  if (statSync(path).isDirectory()) throw new CliError('not_a_file', `${path} is a folder; the command needs a file.`)
  accessSync(path, constants.R_OK)
  return path
}

/** Collects an option that may be given several times. */
export const several = (text: string, before: string[] = []): string[] => [...before, text]

/** Reads names separated by commas. */
export const byComma = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Reads a number whose bounds the service checks. Other text goes there as it is, and is refused like a wrong number. */
export const checkedNumber = (text: string): number =>
  /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (text as unknown as number)
