import { escapeHtml, type Html } from './html.ts'
import { headingLink, type Rendered } from './markdown.ts'
import { groups } from './pages.ts'

/** Where a page finds its files. */
export interface SiteFiles {
  style: string
  script: string
  search: string
}

export interface Shown extends Rendered {
  path: string
  title: string
}

/** A whole page: search on top, the pages on the left, text in the middle, samples on the right. */
export const layout = (page: Shown, tags: readonly string[], files: SiteFiles): Html => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} - Tributary</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${files.style}">
<script src="${files.script}" type="module" data-search="${files.search}"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header class="top">
<a class="brand" href="/docs">Tributary <span>docs</span></a>
<div class="search" role="search" hidden>
<input type="search" id="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" aria-keyshortcuts="/">
<ul id="hits" aria-label="Hits" hidden></ul>
</div>
<a class="spec" href="/docs/openapi.json">OpenAPI</a>
</header>
<div class="frame">
<nav class="pages" aria-label="Pages"><details open><summary>Pages</summary>${navigation(page, tags)}</details></nav>
<main id="text">
<h1>${escapeHtml(page.title)}</h1>
${page.sections.map(section).join('\n')}
</main>
</div>
</body>
</html>
`

function section({ text, samples, in_text }: Shown['sections'][number]): Html {
  if (samples === '') return `<section class="wide"><div class="text">${text}</div></section>`
  const name = in_text ? ' class="twice"' : ''
  return `<section${name}><div class="text">${text}</div><aside class="samples" aria-label="Samples">${samples}</aside></section>`
}

function navigation(page: Shown, tags: readonly string[]): Html {
  const [guide, ...rest] = groups
  const reference = { name: 'API reference', pages: tags.map((tag) => ({ path: tagPath(tag), title: tag })) }
  return [guide!, reference, ...rest].map(({ name, pages }) => navigationGroup(name, pages, page)).join('')
}

const navigationGroup = (name: string, pages: readonly Pick<Shown, 'path' | 'title'>[], shown: Shown): Html =>
  `<h2>${escapeHtml(name)}</h2><ul>${pages
    .map(({ path, title }) => {
      const here = path === shown.path
      const inside = here
        ? shown.headings.filter(({ level }) => level === 2).map((one) => `<li>${headingLink(one)}</li>`)
        : []
      const list = inside.length === 0 ? '' : `<ul>${inside.join('')}</ul>`
      return `<li><a href="/docs${path === '' ? '' : `/${path}`}"${here ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a>${list}</li>`
    })
    .join('')}</ul>`

export const tagPath = (tag: string): string => `reference/${tag.toLowerCase()}`
