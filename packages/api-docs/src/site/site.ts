import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeTabs } from './code.ts'
import { layout, type Shown, type SiteFiles, tagPath } from './layout.ts'
import { type Heading, renderPage, renderText } from './markdown.ts'
import type { OpenapiDocument } from './openapi.ts'
import { type Page, pages, signing } from './pages.ts'
import { renderTag } from './reference.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
export const readRepository = (file: string): Promise<string> => readFile(join(root, file), 'utf8')

/** The pages of the documentation, made of the files of the repository. */
export interface Site {
  paths: readonly string[]
  /** A page as HTML. */
  html(path: string): Promise<string>
  /** The search of the page reads this: one entry a section. */
  searchEntries(): Promise<SearchEntry[]>
}

interface SearchEntry {
  url: string
  title: string
  page: string
  text: string
}

/** A section is found by its beginning: an index of all words would be as large as the documents. */
const indexed_chars_max = 1200

export async function openSite(files: SiteFiles): Promise<Site> {
  const document = JSON.parse(await readRepository('docs/openapi.json')) as OpenapiDocument
  const tags = document.tags.map(({ name }) => name)
  const openers = new Map<string, () => Promise<Shown>>([
    ...pages.map((page): [string, () => Promise<Shown>] => [page.path, () => openPage(page)]),
    ...tags.map((tag): [string, () => Promise<Shown>] => [
      tagPath(tag),
      async () => ({ path: tagPath(tag), title: tag, ...renderTag(document, tag) }),
    ]),
  ])
  const paths = [...openers.keys()]
  return {
    paths,
    html: async (path) => layout(await openers.get(path)!(), tags, files),
    async searchEntries() {
      const shown = await Promise.all([...openers.values()].map((open) => open()))
      return shown.flatMap((page) => [...page.sections.map((section) => toEntry(page, section)), ...rowEntries(page)])
    },
  }
}

async function openPage({ path, title, file }: Page): Promise<Shown> {
  if (path === 'examples/signing') return { path, title, ...(await signingPage(file)) }
  return { path, title, ...renderPage(await readRepository(file), file) }
}

/** The programs have no page in the repository: the guide explains them. */
async function signingPage(folder: string) {
  const programs = signing.map(async ({ file, lang, label }) => ({
    ...{ title: label, lang },
    code: await readRepository(`${folder}/${file}`),
  }))
  const text = renderText(
    `Each program sends one signed batch to \`POST /event\`. It needs four variables: \`TRIBUTARY_URL\`, \`COMPANY_KEY\`, \`APP_KEY\` and \`SIGNING_SECRET\`; the first \`npm start\` writes them to \`demo.env\`.

A test runs the programs in curl, TypeScript, Python and Go against the service. [The guide](docs/api.md#a-batch-from-an-app) explains each step.`,
    'README.md',
  )
  return { headings: [], sections: [{ heading: null, text, samples: codeTabs(await Promise.all(programs)) }] }
}

const addressOfPage = ({ path }: Shown): string => `/docs${path === '' ? '' : `/${path}`}`

const rowEntries = (page: Shown): SearchEntry[] =>
  (page.rows ?? []).map(({ id, text }) => ({
    ...{ url: `${addressOfPage(page)}#${id}`, title: id, page: page.title },
    text: text.slice(0, indexed_chars_max),
  }))

function toEntry(page: Shown, { heading, text, samples, in_text }: Shown['sections'][number]): SearchEntry {
  const anchor = (one: Heading | null) => (one === null ? '' : `#${one.id}`)
  const words = (in_text ? text : `${text} ${samples}`)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_all, code) => String.fromCharCode(code))
  return {
    url: `${addressOfPage(page)}${anchor(heading)}`,
    title: heading?.text ?? page.title,
    page: page.title,
    text: words.replaceAll(/\s+/g, ' ').trim().slice(0, indexed_chars_max),
  }
}
