import { readFile } from 'node:fs/promises'
import { type CvSchemaChange, type CvSchemaShown, cvSchemaRoutes } from '@tributary/contracts/admin/cv-schemas'
import { limits } from '@tributary/contracts/limits'
import {
  type CoarseBand,
  type CoarseValue,
  type CvSchema,
  type CvSchemaDraft,
  coarseValues,
  type FineBand,
  type SequenceIndex,
} from '@tributary/contracts/postback/cv-schema'
import { type Command, Option } from 'commander'
import { admin } from '../../admin.ts'
import { readableFile, wholeNumberUpTo } from '../../arguments.ts'
import { CliError, usageError } from '../../errors.ts'
import { print, table } from '../../output.ts'
import { decodeBySchema, decodedText } from '../../postback/decode-schema.ts'

interface Options {
  app: string
  json?: boolean
}

/** Adds `cv-schema publish|show|diff|decode`. */
export function cvSchemaCommands(program: Command): void {
  const group = program
    .command('cv-schema')
    .description('conversion value schemas of an app: publish, show, diff, decode')
  group
    .command('publish')
    .description('publish a schema as the next version, which is live at once and never changes')
    .argument('<file>', fileMeaning, readableFile)
    .requiredOption('--app <app_id>', 'the app whose conversion values it explains')
    .action(async (file: string, { app: app_id, json }: Options) => {
      const body = { app_id, schema: await readSchema(file) }
      const published = await admin(cvSchemaRoutes.publishCvSchema, { body })
      print(
        { json },
        published,
        `Version ${published.version} is live. It decodes installs from now on; phones that keep another one have it in 24 hours.`,
      )
    })
  group
    .command('show')
    .description('show the newest schema of an app, or one version')
    .requiredOption('--app <app_id>', 'the app')
    .option('--version <number>', 'the version to show (default: the newest)')
    .action(async ({ app: app_id, version, json }: Options & { version?: string }) => {
      const query = { app_id, ...(version === undefined ? {} : { version }) }
      const shown = await admin(cvSchemaRoutes.getCvSchema, { query })
      print({ json }, shown, schemaText(shown))
    })
  group
    .command('diff')
    .description('show what a schema would change if it were published; publish nothing')
    .argument('<file>', fileMeaning, readableFile)
    .requiredOption('--app <app_id>', 'the app')
    .action(async (file: string, { app: app_id, json }: Options) => {
      const answer = await admin(cvSchemaRoutes.compareCvSchema, { body: { app_id, schema: await readSchema(file) } })
      print({ json }, answer, changesText(answer.changes))
    })
  decodeCommand(group)
}

const decodeHelp = `
Nothing is sent anywhere, and the schema need not be published. The fine value decides where a postback has one.
--json: {index, value, coarse, decoded: {name, event_name, revenue_min_usd, revenue_max_usd} or null}`

interface DecodeOptions {
  value?: number | null
  coarse?: CoarseValue | null
  index: string
  json?: boolean
}

function decodeCommand(group: Command): void {
  group
    .command('decode')
    .description('say what a conversion value means by a schema')
    .argument('<file>', fileMeaning, readableFile)
    .option('--value <number>', 'fine value, 0 to 63', wholeNumberUpTo(limits.cv_fine_value_max))
    .addOption(new Option('--coarse <value>', 'coarse value').choices(coarseValues))
    .addOption(new Option('--index <number>', 'sequence index of the postback').choices(['0', '1', '2']).default('0'))
    .addHelpText('after', decodeHelp)
    .action(async (file: string, { value: fine = null, coarse = null, index, json }: DecodeOptions) => {
      if (fine === null && coarse === null) throw usageError('Give --value, --coarse or both.')
      const value = { sequence_index: Number(index) as SequenceIndex, fine, coarse }
      const decoded = decodeBySchema(await readSchema(file), value)
      print({ json }, { index: value.sequence_index, value: fine, coarse, decoded }, decodedText(value, decoded))
    })
}

const fileMeaning = 'JSON file of the schema, or what cv-schema show --json printed'

/** The schema as it is in the file: the service checks it. */
async function readSchema(path: string): Promise<CvSchemaDraft> {
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'))
    const isShown = typeof content === 'object' && content !== null && 'app_id' in content && 'schema' in content
    return (isShown ? content.schema : content) as CvSchemaDraft
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CliError('bad_json', `${path} is not JSON: ${error.message}`)
  }
}

function schemaText({ app_id, version, schema }: CvSchemaShown): string {
  if (schema === null) return `${app_id} has published no schema.`
  return [`${app_id}, version ${version}`, ...schema.postbacks.map(postbackText)].join('\n\n')
}

type Postback = CvSchema['postbacks'][number]
type Band = FineBand | CoarseBand

const postbackText = ({ postback_sequence_index: index, fine, coarse, ...window }: Postback): string =>
  [
    `Postback ${index}: ${windowText(window)}`,
    table(
      ['value', 'name', 'event_name', 'revenue_usd'],
      [...fine, ...coarse].map((band) => [String(band.value), band.name, band.event_name, revenueText(band)]),
    ),
  ].join('\n')

const windowText = ({ window_hours, lock_window }: Pick<Postback, 'window_hours' | 'lock_window'>): string =>
  `until ${window_hours} hours after the install${lock_window ? ', locked by the first value' : ''}`

function revenueText({ revenue_min_usd: min, revenue_max_usd: max }: Band): string | null {
  if (min == null) return null
  return max == null ? `${min} or more` : `${min} to below ${max}`
}

function changesText(changes: readonly CvSchemaChange[]): string {
  if (changes.length === 0) return 'Nothing would change.'
  return table(
    ['change', 'postback', 'value', 'before', 'after'],
    changes.map(({ postback_sequence_index: index, part, value, before, after }) => [
      before === null ? 'added' : after === null ? 'removed' : 'changed',
      index,
      part === 'postback' ? 'window' : `${part} ${value}`,
      partText(before),
      partText(after),
    ]),
  )
}

function partText(part: CvSchemaChange['before']): string | null {
  if (part === null) return null
  if ('window_hours' in part) return windowText(part)
  const { name, event_name } = part
  const revenue = revenueText(part)
  return [name, event_name, revenue === null ? null : `${revenue} USD`].filter((one) => one != null).join(', ')
}
