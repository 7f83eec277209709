/** A part of a pipeline: a literal, a value such as `.Values.image` or `$own.replicas`, a function with arguments, or an inner pipeline. */
export type Operand =
  | { literal: unknown }
  | { start: '.' | `$${string}`; fields: string[] }
  | { name: string }
  | { pipeline: Pipeline; fields: string[] }
export interface Pipeline {
  /** Variables that it sets; of a `range` there may be two. */
  sets?: { names: string[]; declares: boolean }
  commands: Operand[][]
}
export type Node =
  | { text: string }
  | { pipeline: Pipeline }
  | { kind: 'if' | 'with' | 'range'; pipeline: Pipeline; body: Node[]; otherwise: Node[] }
  | { kind: 'define'; name: string; body: Node[] }

/** Splits a template into texts and actions; `{{-` and `-}}` take the white space beside them away. */
function split(source: string): { text?: string; action?: string }[] {
  const parts: { text?: string; action?: string }[] = []
  let end = 0
  let trims = false
  const addText = (text: string) => parts.push({ text: trims ? text.trimStart() : text })
  for (const match of source.matchAll(/\{\{(-(?=\s))?([\s\S]*?)(-)?\}\}/g)) {
    const text = source.slice(end, match.index)
    addText(match[1] ? text.trimEnd() : text)
    const action = match[2]!.trim()
    if (!action.startsWith('/*')) parts.push({ action })
    trims = match[3] !== undefined
    end = match.index + match[0].length
  }
  addText(source.slice(end))
  return parts
}

const token =
  /\s*("(?:[^"\\]|\\.)*"|:=|[|=,()]|-?\d+(?:\.\d+)?(?![\w.])|\$?[A-Za-z_]\w*(?:\.\w+)*|\$(?:\.\w+)*|(?:\.\w+)+|\.)/y

function tokensOf(action: string): string[] {
  const tokens: string[] = []
  token.lastIndex = 0
  while (token.lastIndex < action.length) {
    const at = token.lastIndex
    const match = token.exec(action)
    if (!match) throw new Error(`this action is not understood here: ${action.slice(at)}`)
    tokens.push(match[1]!)
  }
  return tokens
}

/** Reads a pipeline until its end or the closing parenthesis, which it takes too. */
function readPipeline(tokens: string[]): Pipeline {
  const setting = tokens.findIndex((one) => one === ':=' || one === '=')
  const head = setting === -1 ? [] : tokens.splice(0, setting + 1)
  const names = head.filter((one) => one.startsWith('$'))
  const commands: Operand[][] = [[]]
  for (let next = tokens.shift(); next !== undefined && next !== ')'; next = tokens.shift()) {
    if (next === '|') commands.push([])
    else commands.at(-1)!.push(readOperand(next, tokens))
  }
  return { ...(names.length > 0 && { sets: { names, declares: head.at(-1) === ':=' } }), commands }
}

function readOperand(next: string, tokens: string[]): Operand {
  if (next === '(') {
    const pipeline = readPipeline(tokens)
    const fields = tokens[0]?.startsWith('.') && tokens[0] !== '.' ? tokens.shift()!.slice(1).split('.') : []
    return { pipeline, fields }
  }
  if (next.startsWith('"')) return { literal: JSON.parse(next) }
  if (/^-?\d/.test(next)) return { literal: Number(next) }
  if (next === 'true' || next === 'false') return { literal: next === 'true' }
  const [start = '', ...fields] = next.split('.')
  if (start.startsWith('$')) return { start: start as `$${string}`, fields }
  return start === '' ? { start: '.', fields: fields.filter(Boolean) } : { name: next }
}

/** The tree of one file of templates. */
export function parseTemplate(source: string): Node[] {
  const root: Node[] = []
  /** Lists that are open: the innermost last, with what an `else` of it fills. */
  const open: { list: Node[]; branch?: { otherwise: Node[] }; closes: number }[] = [{ list: root, closes: 0 }]
  for (const { text, action = '' } of split(source)) {
    const { list } = open.at(-1)!
    if (text !== undefined) {
      list.push({ text })
      continue
    }
    const tokens = tokensOf(action)
    const word = tokens[0]
    if (word === 'end') {
      for (let left = open.pop()!.closes; left > 1; left -= 1) open.pop()
    } else if (word === 'else') {
      const last = open.at(-1)!
      last.list = last.branch!.otherwise
      if (tokens[1] === 'if') {
        const inner: Node = { kind: 'if', pipeline: readPipeline(tokens.slice(2)), body: [], otherwise: [] }
        last.list.push(inner)
        open.push({ list: inner.body, branch: inner, closes: last.closes + 1 })
      }
    } else if (word === 'define') {
      const node: Node = { kind: 'define', name: JSON.parse(tokens[1]!), body: [] }
      list.push(node)
      open.push({ list: node.body, closes: 1 })
    } else if (word === 'if' || word === 'with' || word === 'range') {
      const node: Node = { kind: word, pipeline: readPipeline(tokens.slice(1)), body: [], otherwise: [] }
      list.push(node)
      open.push({ list: node.body, branch: node, closes: 1 })
    } else list.push({ pipeline: readPipeline(tokens) })
  }
  if (open.length !== 1) throw new Error('a block of the template is not ended')
  return root
}
