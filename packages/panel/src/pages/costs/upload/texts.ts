import type { Field } from './cost-file.ts'

const fields: Record<Field, string> = {
  ...{ day: 'Day', partner: 'Partner', campaign: 'Campaign', ad_group: 'Ad group', country: 'Country' },
  ...{ cost: 'Cost', currency: 'Currency', clicks: 'Clicks', impressions: 'Impressions' },
}
const placeholders: Partial<Record<Field, string>> = { day: '2026-06-01', partner: 'acme', cost: '0', currency: 'EUR' }

export const texts = {
  title: 'Upload a file',
  help: 'A CSV file with one cost a line: a day (2026-06-01), a partner, the money and its currency; campaign, ad group, country, clicks and impressions where you have them. The newest upload of a day, partner, campaign, ad group and country replaces the one before.',
  choose: 'Choose a file',
  chosen: (name: string, lines: string) => `${name}, lines: ${lines}`,
  noLines: 'This file has no line below its heads.',
  tooLong: 'This file has more than 200,000 lines. Use tributary cost load, which goes on after a break.',
  sameText: 'The same for all',
  textOf: (field: string) => `${field} of all lines`,
  absent: 'none',
  preview: 'The first lines as they will be sent',
  missing: (needed: readonly Field[]) => `Still needed: ${needed.map((one) => fields[one]).join(', ')}.`,
  upload: (lines: string) => `Upload ${lines} lines`,
  uploading: 'Uploading',
  outcome: (accepted: string, rejected: string, isOver: boolean) =>
    `${isOver ? 'Uploaded. ' : ''}Accepted: ${accepted}. Rejected: ${rejected}.`,
  rejected: (row: number, reason: string) => `Row ${row}: ${reason}`,
  firstOnly: (shown: number) => `These are the first ${shown} of them.`,
  fields,
  placeholders,
} as const
