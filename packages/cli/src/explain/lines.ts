import width from 'string-width'
import { printable } from '../output.ts'

/** A title, and below it paragraphs with their indents. */
export interface Section {
  title?: string
  paragraphs: readonly (string | Paragraph)[]
}
interface Paragraph {
  indent: number
  text: string
}

/** Sections as lines of at most `columns`, an empty line between them. Sections without paragraphs are left out. */
export function layOut(sections: readonly Section[], columns: number): string {
  const filled = sections.filter(({ paragraphs }) => paragraphs.length > 0)
  return filled.map((section) => sectionLines(section, columns).join('\n')).join('\n\n')
}

function sectionLines({ title, paragraphs }: Section, columns: number): string[] {
  const inner = title === undefined ? 0 : 2
  const lines = paragraphs.flatMap((paragraph) => {
    const { indent, text } = typeof paragraph === 'string' ? { indent: 0, text: paragraph } : paragraph
    const margin = ' '.repeat(inner + indent)
    return wrap(text, columns - margin.length).map((line) => margin + line)
  })
  return title === undefined ? lines : [title, ...lines]
}

/** Breaks at spaces. A word that is longer than a line stands alone and is cut. */
function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of printable(text)
    .split(' ')
    .flatMap((one) => cut(one, columns))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && width(longer) > columns) lines.push(line)
    line = line !== '' && width(longer) > columns ? word : longer
  }
  return [...lines, line]
}

const cut = (word: string, columns: number): string[] =>
  width(word) <= columns ? [word] : (word.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? [])

const units = [
  { name: 'day', ms: 24 * 3600 * 1000 },
  { name: 'hour', ms: 3600 * 1000 },
  { name: 'minute', ms: 60 * 1000 },
  { name: 'second', ms: 1000 },
  { name: 'millisecond', ms: 1 },
] as const

/** A time span in its two largest units: `3 hours 20 minutes`. */
export function span(ms: number): string {
  const first = units.findIndex((unit) => Math.abs(ms) >= unit.ms)
  if (first < 0) return '0 seconds'
  const [large, small] = [units[first]!, units[first + 1]]
  const whole = Math.floor(Math.abs(ms) / large.ms)
  const rest = small === undefined ? 0 : Math.floor((Math.abs(ms) % large.ms) / small.ms)
  return [
    count(whole, large.name),
    ...(rest > 0 && small?.name !== 'millisecond' ? [count(rest, small!.name)] : []),
  ].join(' ')
}

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

/** `2026-06-01 12:00:05 UTC` */
export const time = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
