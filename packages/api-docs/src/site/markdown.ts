import markdownIt from 'markdown-it'
import { codeBlock } from './code.ts'
import { escapeHtml, type Html, slugOf } from './html.ts'
import { addressOf } from './pages.ts'

export interface Heading {
  level: number
  text: string
  id: string
}

export interface Rendered {
  /** One for the text before the first heading of level 2, and one for each of these. */
  sections: {
    text: Html
    samples: Html
    heading: Heading | null /** The samples stand in the text too, for narrow screens. */
    in_text?: true
  }[]
  headings: Heading[]
  /** Rows of tables that begin with a name in code, such as an error or a setting. */
  rows?: { id: string; text: string }[]
}

type Token = ReturnType<ReturnType<typeof markdownIt>['parse']>[number]

// The documents are ours. HTML in them is shown as text all the same.
const parser = markdownIt({ html: false, linkify: false })
parser.renderer.rules.fence = (tokens, index) => codeBlock(tokens[index]!.content, tokens[index]!.info)
parser.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>'
parser.renderer.rules.table_close = () => '</table></div>'

/** A text of one line or some paragraphs, such as a description of the API. */
export const renderText = (text: string, file = 'docs/openapi.json'): Html => {
  const tokens = parser.parse(text, {})
  leadLinks(tokens, file)
  return parser.renderer.render(tokens, parser.options, {})
}

/** A page of the repository without its title. Code of a section stands beside its text, and in it. */
export function renderPage(text: string, file: string): Rendered {
  // Comments are for who edits the file: they would be shown as text.
  const tokens = parser.parse(text.replaceAll(/^<!--.*-->\n/gm, ''), {})
  leadLinks(tokens, file)
  const headings = nameHeadings(tokens)
  const rows = nameRows(tokens, new Set(headings.map(({ id }) => id)))
  const sections: Rendered['sections'] = []
  const render = (some: Token[]) => parser.renderer.render(some, parser.options, {})
  let heading: Heading | null = null
  let part: Token[] = []
  const end = () => {
    const code = part.filter(({ type, level }) => type === 'fence' && level === 0)
    sections.push({ heading, text: render(part), samples: render(code), in_text: true })
    part = []
  }
  const [, ...named] = headings
  for (const token of tokens.slice(3)) {
    if (token.type === 'heading_open' && token.tag === 'h2') {
      end()
      const id = token.attrGet('id')
      heading = named.find((one) => one.id === id) ?? null
    }
    part.push(token)
  }
  end()
  return { sections: sections.filter(({ text }) => text !== ''), headings, rows }
}

function nameHeadings(tokens: readonly Token[]): Heading[] {
  const seen = new Map<string, number>()
  return tokens.flatMap((token, index): Heading[] => {
    if (token.type !== 'heading_open') return []
    const children = tokens[index + 1]?.children ?? []
    const text = children.map(({ content }) => content).join('')
    const slug = slugOf(text)
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    const id = before === 0 ? slug : `${slug}-${before}`
    token.attrSet('id', id)
    return [{ level: Number(token.tag.slice(1)), text, id }]
  })
}

/** A row that begins with a name in code has that name in addresses, unless something before it has. */
function nameRows(tokens: readonly Token[], taken: Set<string>): { id: string; text: string }[] {
  return tokens.flatMap((token, index) => {
    const [cell, ...more] = tokens[index + 2]?.children ?? []
    if (token.type !== 'tr_open' || cell?.type !== 'code_inline' || more.length > 0) return []
    const id = cell.content.replaceAll(/[^\w.-]/g, '-')
    if (taken.has(id)) return []
    taken.add(id)
    token.attrSet('id', id)
    const end = tokens.findIndex(({ type }, at) => at > index && type === 'tr_close')
    const texts = tokens.slice(index, end).flatMap(({ type, content }) => (type === 'inline' ? content : []))
    return [{ id, text: texts.join(' ').replaceAll(/[`*]/g, '') }]
  })
}

/** Links lead to pages of the site. What it does not have is text; pictures stand in the repository alone. */
function leadLinks(tokens: readonly Token[], file: string): void {
  for (const { children } of tokens) {
    let kept = true
    for (const token of children ?? []) {
      if (token.type === 'image') Object.assign(token, { type: 'text', content: '' })
      if (token.type === 'link_open') {
        const address = addressOf(file, String(token.attrGet('href') ?? ''))
        kept = address !== null
        if (address !== null) token.attrSet('href', address)
      }
      if (!kept && (token.type === 'link_open' || token.type === 'link_close')) {
        token.type = 'text'
        token.content = ''
      }
    }
  }
}

export const headingLink = ({ id, text }: Heading): Html => `<a href="#${id}">${escapeHtml(text)}</a>`
