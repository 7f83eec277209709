import { CvSchemaDraft } from '@tributary/contracts/postback/cv-schema'
import { type ConversionValue, type DecodedValue, decodeValue } from '@tributary/domain/postback/cv-schema'
import { findSchemaFaults } from '@tributary/domain/postback/schema-faults'
import { CliError } from '../errors.ts'

/** Says what a value means by a schema, published or not. Throws CliError `invalid_field` as the service refuses it. */
export function decodeBySchema(schema: unknown, value: ConversionValue): DecodedValue | null {
  const parsed = CvSchemaDraft.safeParse(schema)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw refusal(issue?.path.join('.') ?? '', issue?.message ?? '')
  }
  const [fault] = findSchemaFaults(parsed.data)
  if (fault !== undefined) throw refusal(fault.path, fault.message)
  return decodeValue(parsed.data, value)
}

const refusal = (path: string, message: string): CliError =>
  new CliError('invalid_field', path === '' ? message : `${message} (schema.${path})`)

/** The same for a person. */
export function decodedText({ sequence_index, fine, coarse }: ConversionValue, decoded: DecodedValue | null): string {
  const named = [fine === null ? [] : `fine value ${fine}`, coarse === null ? [] : `coarse value ${coarse}`].flat()
  const subject = `Postback ${sequence_index}, ${named.join(' and ')}`
  if (decoded === null) return `${subject}: the schema says nothing of it.`
  const { name, event_name, revenue_min_usd: min, revenue_max_usd: max } = decoded
  const revenue = min === null ? null : min === max ? `${min} USD or more` : `${min} to below ${max} USD`
  const ignored = fine !== null && coarse !== null ? ' (the fine value decides)' : ''
  return `${subject}${ignored}: ${[name, event_name, revenue].filter((one) => one !== null).join(', ')}`
}
