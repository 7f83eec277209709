import type { JsonSchema } from '../json-schema.ts'
import { codeBlock, codeTabs } from './code.ts'
import { fieldList, fieldsOf, type Resolve } from './fields.ts'
import { escapeHtml, type Html } from './html.ts'
import { type Rendered, renderText } from './markdown.ts'
import type { Answer, OpenapiDocument, Operation, Parameter } from './openapi.ts'
import { requestSample } from './request-sample.ts'

/** The page of a tag: each operation with its fields, and beside them a request and its answer. */
export function renderTag(document: OpenapiDocument, tag: string): Rendered {
  const resolve = resolver(document)
  const intro = document.tags.find(({ name }) => name === tag)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const sections = operations
    .filter(({ operation }) => operation.tags.includes(tag))
    .map(({ path, method, operation }) => {
      const heading = { level: 2, text: operation.summary, id: operation.operationId }
      return {
        heading,
        text: operationText(method, path, operation, resolve),
        samples: operationSamples(method, path, operation, resolve),
      }
    })
  const headings = [{ level: 1, text: tag, id: '' }, ...sections.map(({ heading }) => heading)]
  return {
    sections: [
      { heading: null, text: renderText(`${intro?.description ?? ''}\n\n${in_every_request}`), samples: '' },
      ...sections,
    ],
    headings,
  }
}

function resolver({ components }: OpenapiDocument): Resolve {
  return (schema) => {
    const { $ref } = schema as { $ref?: string }
    if ($ref === undefined) return schema as JsonSchema
    return $ref
      .split('/')
      .slice(2)
      .reduce((of, name) => of[name] as JsonSchema, components)
  }
}

/** Stands once above all operations. */
const in_every_request =
  'Every request may have a header `X-Request-Id`: up to 128 visible ASCII characters of your own. The answer and the log have it too.'

function operationText(method: string, path: string, operation: Operation, resolve: Resolve): Html {
  const parameters = operation.parameters.map((one) => resolve(one) as unknown as Parameter)
  const [body] = Object.values(operation.requestBody?.content ?? {})
  const answers = Object.entries(operation.responses)
  const listOf = (place: string, title: string): Html => {
    const fields = parameters.filter((one) => one.in === place && one.name !== 'X-Request-Id')
    const list = fieldList(
      fields.map(({ name, schema, required = false, description }) => ({ name, schema, required, description })),
      resolve,
    )
    return list === '' ? '' : `<h3>${title}</h3>${list}`
  }
  return [
    `<h2 id="${operation.operationId}">${escapeHtml(operation.summary)}</h2>`,
    `<p class="route"><span class="method">${method}</span> <code>${escapeHtml(path).replaceAll('/', '/<wbr>')}</code></p>`,
    operation.description === operation.summary ? '' : renderText(operation.description),
    `<p class="auth">${escapeHtml(credentials(operation))}</p>`,
    listOf('path', 'In the path'),
    listOf('query', 'In the query'),
    body === undefined
      ? ''
      : `<h3>Body</h3>${renderText(operation.requestBody!.description)}${fieldList(fieldsOf(body.schema, resolve), resolve)}`,
    listOf('header', 'Headers'),
    '<h3>Answers</h3>',
    ...answers.map(([status, given]) => {
      const answer = resolve(given) as unknown as Answer
      const [content] = Object.values(answer.content ?? {})
      const fields =
        content === undefined || Number(status) >= 400 ? '' : fieldList(fieldsOf(content.schema, resolve), resolve)
      const opened = fields === '' ? '' : `<details><summary>Fields of the answer</summary>${fields}</details>`
      return `<div class="answer"><p class="status">${status}</p><div>${renderText(answer.description)}${opened}</div></div>`
    }),
  ].join('')
}

const words: Record<string, string> = {
  server_key: 'Needs a server key.',
  admin_token: 'Needs the admin token, or the session of a person with a role for it.',
  session: 'Needs the session of a person.',
  signature: 'Needs company key, app key and signature.',
  app_key: 'Needs company key and app key.',
}

function credentials({ security }: Operation): string {
  const names = Object.keys(security[0] ?? {})
  return Object.entries(words).find(([name]) => names.includes(name))?.[1] ?? 'Needs no credentials.'
}

function operationSamples(method: string, path: string, operation: Operation, resolve: Resolve): Html {
  const programs = (operation['x-codeSamples'] ?? []).map(({ label, lang, source }) => ({
    title: label,
    lang,
    code: source,
  }))
  const [, answer] = Object.entries(operation.responses).find(([status]) => Number(status) < 300) ?? []
  const [content] = Object.entries((answer && (resolve(answer) as unknown as Answer).content) ?? {})
  const [example] = Object.values(content?.[1].examples ?? {})
  const shown = typeof example?.value === 'string' ? example.value : JSON.stringify(example?.value, null, 2)
  const curl = requestSample(method, path, operation, resolve)
  return [
    programs.length > 0 ? codeTabs(programs) : codeBlock(curl, 'bash', 'Request'),
    example === undefined ? '' : codeBlock(shown, content?.[0].includes('json') ? 'json' : '', 'Answer'),
  ].join('')
}
