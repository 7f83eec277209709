import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/**
 * JSON Schema (draft 2020-12, that of OpenAPI 3.1) of a zod schema. Fields that it does not name are allowed, so that an
 * answer can grow; where JSON Schema has no word for a rule it is looser than the code, never stricter.
 */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    // Checks by hand are all of objects (`props`, `device`).
    unrepresentable: ({ zodSchema }) => (zodSchema._zod.def.type === 'custom' ? { type: 'object' } : 'throw'),
    override: ({ jsonSchema: made }) => simplify(made as JsonSchema),
  })
  return rest
}

/** `type: [x, null]` for `anyOf: [x, null]`, and no limits that only say "a safe integer": both are easier to read. */
function simplify(made: JsonSchema): void {
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum
  if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum
  const [one, other, ...more] = (made.anyOf ?? []) as JsonSchema[]
  if (typeof one?.type !== 'string' || other?.type !== 'null' || more.length > 0) return
  delete made.anyOf
  const values = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {}
  const description = made.description ? { description: made.description } : {}
  Object.assign(made, one, { type: [one.type, 'null'] }, values, description)
}
