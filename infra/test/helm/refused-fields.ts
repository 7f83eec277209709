import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import type { Manifest } from './render-chart.ts'

const { kinds, definitions } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'kubernetes-schemas.json'), 'utf8'),
) as {
  kinds: Record<string, string>
  definitions: object
}
const ajv = new Ajv({ strict: false, allErrors: true })
ajv.addSchema({ $id: 'kubernetes', definitions })

/** What the API of Kubernetes would refuse of an object: fields that it does not know, wrong types, missing fields. */
export function refusedFields(manifest: Manifest): string[] {
  const name = kinds[manifest.kind]
  if (name === undefined) return [`no schema of ${manifest.kind} is kept`]
  ajv.validate({ $ref: `kubernetes#/definitions/${name}` }, manifest)
  return (ajv.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}
