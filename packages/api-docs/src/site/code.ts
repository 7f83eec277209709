import { createRequire } from 'node:module'
import { escapeHtml, type Html } from './html.ts'

interface Highlighter {
  getLanguage(name: string): unknown
  highlight(code: string, options: { language: string }): { value: string }
}
// Not by `import`: its types bring those of browsers for every file, which differ from Node's for `fetch`.
const require = createRequire(import.meta.url)
const highlighter: Highlighter = require('highlight.js/lib/common')

const otherNames: Record<string, string> = {
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  js: 'typescript',
  py: 'python',
}

/** A block of code with a button that copies it. */
export function codeBlock(code: string, lang = '', title = ''): Html {
  const name = otherNames[lang] ?? lang
  const text = code.trimEnd()
  const inner = highlighter.getLanguage(name) ? highlighter.highlight(text, { language: name }).value : escapeHtml(text)
  const words = title === '' ? '' : `<span>${escapeHtml(title)}</span>`
  return `<figure class="code"><figcaption>${words}<button type="button" class="copy">Copy</button></figcaption><pre tabindex="0"><code>${inner}</code></pre></figure>`
}

/** Several blocks, of which one is shown at a time; all of them without JavaScript. */
export const codeTabs = (blocks: readonly { title: string; lang: string; code: string }[]): Html =>
  `<div class="tabs">${blocks.map(({ title, lang, code }) => codeBlock(code, lang, title)).join('')}</div>`
