import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { type Node, type Operand, type Pipeline, parseTemplate } from './parse-template.ts'
import { functions, isTrue } from './template-functions.ts'

export const chart = join(import.meta.dirname, '..', '..', 'helm', 'tributary')
const readFile = (name: string) => readFileSync(join(chart, name), 'utf8')

/** An object of Kubernetes, as far as tests look at it. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another one, and the schema of Kubernetes is held against all
  spec?: any
  data?: Record<string, string>
}

type Values = Record<string, unknown>
type Variables = Record<string, unknown>
type Templates = Map<string, Node[]>

/**
 * Renders the chart as `helm template tributary infra/helm/tributary --namespace tributary` does, without Helm: the part of Go's templates
 * that the chart uses. helm.prove.test.ts holds it against Helm. Throws for values that values.schema.json or the chart refuses.
 */
export function renderText(given: Values = {}): string {
  const values = functions.mergeOverwrite!(parse(readFile('values.yaml')) as never, structuredClone(given) as never)
  const ajv = new Ajv({ strict: false })
  if (!ajv.validate(JSON.parse(readFile('values.schema.json')), values)) throw new Error(ajv.errorsText())
  const { name, version, appVersion } = parse(readFile('Chart.yaml')) as Record<string, string>
  const root = {
    Values: values,
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: 'tributary', Namespace: 'tributary', Service: 'Helm' },
    Files: { Get: readFile },
  }
  const files = readdirSync(join(chart, 'templates')).sort()
  const trees = files.map((file) => [file, parseTemplate(readFile(`templates/${file}`))] as const)
  const templates: Templates = new Map(
    trees.flatMap(([, nodes]) => nodes.flatMap((node) => ('name' in node ? [[node.name, node.body]] : []))),
  )
  const manifests = trees.filter(([file]) => file.endsWith('.yaml'))
  return manifests
    .map(([file, nodes]) => ({ file, text: renderNodes(nodes, root, { $: root }, templates).trim() }))
    .filter(({ text }) => text !== '')
    .map(({ file, text }) => `# Source: ${file}\n${text}\n`)
    .join('---\n')
}

/** The objects of the rendered chart. */
export const render = (given: Values = {}): Manifest[] => manifestsOf(renderText(given))

/** The objects in a text of several documents. */
export const manifestsOf = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS() as Manifest | null
    })
    .filter((one) => one !== null)

function renderNodes(nodes: Node[], dot: unknown, variables: Variables, templates: Templates): string {
  const scope = scoped(variables)
  const inner = (body: Node[], at: unknown, within: Variables = scope) => renderNodes(body, at, within, templates)
  return nodes
    .map((node) => {
      if ('text' in node) return node.text
      if (!('kind' in node)) {
        const value = evaluate(node.pipeline, dot, scope, templates)
        return node.pipeline.sets ? '' : String(value ?? '')
      }
      if (node.kind === 'define') return ''
      const value = evaluate({ commands: node.pipeline.commands }, dot, scope, templates)
      if (!isTrue(value)) return inner(node.otherwise, dot)
      if (node.kind !== 'range') return inner(node.body, node.kind === 'with' ? value : dot)
      const [first, second] = node.pipeline.sets?.names ?? []
      return entriesOf(value)
        .map(([key, item]) => {
          const within = scoped(scope)
          if (second) Object.assign(within, { [first!]: key, [second]: item })
          else if (first) within[first] = item
          return inner(node.body, item, within)
        })
        .join('')
    })
    .join('')
}

/** Pairs of a list in its order, or of a map in the order of its keys, as Go ranges over it. */
const entriesOf = (value: unknown): [unknown, unknown][] =>
  Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value as object).sort(([one], [other]) => (one < other ? -1 : 1))

/** Variables of an inner block: it sees the outer ones, and those that it declares end with it. */
const scoped = (outer: Variables): Variables => Object.create(outer)

/** `=` changes the variable where it was declared. */
function assign(variables: Variables, name: string, value: unknown): void {
  let at = variables
  while (!Object.hasOwn(at, name)) at = Object.getPrototypeOf(at)
  at[name] = value
}

function evaluate({ sets, commands }: Pipeline, dot: unknown, variables: Variables, templates: Templates): unknown {
  const start = commands[0] ?? []
  let value = call(start, [], dot, variables, templates)
  for (const command of commands.slice(1)) value = call(command, [value], dot, variables, templates)
  for (const name of sets?.names ?? []) {
    if (sets!.declares) variables[name] = value
    else assign(variables, name, value)
  }
  return value
}

function call(command: Operand[], piped: unknown[], dot: unknown, variables: Variables, templates: Templates): unknown {
  const [first, ...rest] = command
  const read = (operand: Operand) => readValue(operand, dot, variables, templates)
  const args = () => [...rest.map(read), ...piped]
  if (!('name' in first!)) {
    const value = read(first!)
    return typeof value === 'function' ? value(...args()) : value
  }
  if (first.name === 'include') {
    const [name, at] = args()
    return renderNodes(templates.get(String(name))!, at, { $: at }, templates)
  }
  const known = functions[first.name]
  if (!known) throw new Error(`the function ${first.name} is not known here`)
  return known(...(args() as never[]))
}

function readValue(operand: Operand, dot: unknown, variables: Variables, templates: Templates): unknown {
  if ('literal' in operand) return operand.literal
  if ('name' in operand) return functions[operand.name]!()
  const start =
    'pipeline' in operand
      ? evaluate(operand.pipeline, dot, variables, templates)
      : operand.start === '.'
        ? dot
        : variables[operand.start]
  return operand.fields.reduce<unknown>((value, field) => (value as Record<string, unknown> | null)?.[field], start)
}
