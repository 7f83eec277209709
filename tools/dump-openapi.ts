import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CodeSample, openapiDocument } from '@tributary/api-docs/openapi-document'
import { declaredRoutes } from '@tributary/standalone/declared-routes'

const docs = join(import.meta.dirname, '..', 'docs')

/** The files of docs/examples/signing, in the order in which they are shown. */
const signing: [file: string, lang: string, label: string][] = [
  ['event.sh', 'shell', 'curl'],
  ['event.ts', 'typescript', 'TypeScript'],
  ['event.py', 'python', 'Python'],
  ['event.go', 'go', 'Go'],
  ['Event.kt', 'kotlin', 'Kotlin'],
  ['event.swift', 'swift', 'Swift'],
  ['Event.cs', 'csharp', 'C#'],
]

/** docs/openapi.json as the declared routes and the pages of docs have it. */
export async function openapiText(): Promise<string> {
  const text = (...path: string[]) => readFile(join(docs, ...path), 'utf8')
  const samples = signing.map(
    async ([file, lang, label]): Promise<CodeSample> => ({
      ...{ lang, label },
      source: await text('examples', 'signing', file),
    }),
  )
  const document = openapiDocument(declaredRoutes, {
    guide: await text('api.md'),
    errors: await text('errors.md'),
    samples: await Promise.all(samples),
  })
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Writes docs/openapi.json; with `--check` it only says when that is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const file = join(docs, 'openapi.json')
  const text = await openapiText()
  if (!values.check) await writeFile(file, text)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error('docs/openapi.json is not what the code says: run `npm run dump` and commit it.')
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
