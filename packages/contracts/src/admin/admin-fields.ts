import { z } from 'zod'

/** No control characters (PostgreSQL refuses U+0000); by number, for readers of docs/openapi.json that know no `\\P{Cc}`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/

export const text = (max: number) => z.string().max(max).regex(printable, 'must not hold control characters')
export const name = z.string().trim().min(1).max(200).regex(printable, 'must not hold control characters')

/** The path parameter that names one thing. */
export const pathId = (noun: string, example: string) =>
  z.object({ id: z.string().meta({ description: `Id of the ${noun}.`, example }) })

/** When the companies, apps and keys of the examples were made. */
export const created_at_ms = Date.UTC(2026, 5, 1)
