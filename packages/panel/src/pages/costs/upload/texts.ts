import type { Field } from './cost-file.ts'

const fields: Record<Field, string> = {
  ...{ day: 'Day', partner: 'Partner', campaign: 'Campaign', ad_group: 'Ad group', country: 'Country' },
  ...{ cost: 'Cost', currency: 'Currency', clicks: 'Clicks', impressions: 'Impressions' },
}
const placeholders: Partial<Record<Field, string>> = { day: '2026-06-01', partner: 'acme', cost: '0', currency: 'EUR' }

const outcomes = { idle: '', pending: '', error: 'Stopped. ', success: 'Uploaded. ' }

export const texts = {
  title: 'Upload a file',
  help: 'A CSV file with one cost a line: a day (2026-06-01), a partner, the money and its currency; campaign, ad group, country, clicks and impressions where you have them. If two files have the same day, partner, campaign, ad group and country, the file that was changed last counts, whichever you upload last.',
  choose: 'Choose a file',
  chosen: (name: string, lines: string) => `${name}, lines: ${lines}`,
  unread: new Map([
    ['empty', 'This file has no line below its heads.'],
    ['long', 'This file has more than 200,000 lines. Use tributary cost load, which goes on after a break.'],
  ]),
  broken: (row: string) =>
    `This is no whole CSV file: ${row} has an open quote, or more or fewer fields than the heads.`,
  leftOut: (columns: readonly string[]) => `Not sent: ${columns.join(', ')}.`,
  twice: (first: number, second: number) =>
    `Rows ${first} and ${second} have the same day, partner, campaign, ad group and country, so only one of them would count. Add them up first, or choose the column that tells them apart.`,
  unreadable: 'This file could not be read. Choose it again.',
  sameText: 'The same for all',
  textOf: (field: string) => `${field} of all lines`,
  absent: 'none',
  preview: 'The first lines as they will be sent',
  missing: (needed: readonly Field[]) => `Still needed: ${needed.map((one) => fields[one]).join(', ')}.`,
  upload: (lines: string) => `Upload ${lines} lines`,
  uploading: 'Uploading',
  outcome: (accepted: string, rejected: string, state: 'pending' | 'error' | 'success' | 'idle') =>
    `${outcomes[state]}Accepted: ${accepted}. Rejected: ${rejected}.${state === 'error' ? ' Send it again: nothing counts twice.' : ''}`,
  rejected: (row: number, reason: string) => `Row ${row}: ${reason}`,
  firstOnly: (shown: number) => `These are the first ${shown} of them.`,
  fields,
  placeholders,
} as const
