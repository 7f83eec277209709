import { describe, expect, it } from 'vitest'
import { tributary } from '../../../packages/cli/test/run-tributary.ts'
import { commands, runbooks } from './runbook-commands.ts'
import { alerts, read } from './watch-files.ts'

const sections = ['**What it means.**', '**What users see.**', '## Look', '## End it', '## It is over when']
const bookOf = (url: string) => url.replace('docs/runbooks/', '').replace('.md', '')

describe.each([...runbooks])('%s', (name, text) => {
  it('says what it means, what users see, where to look, how to end it and when it is over', () => {
    const places = sections.map((section) => text.indexOf(section))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })
  it('names the alerts that lead here, and how urgent they are', () => {
    const [, , line = ''] = text.split('\n')
    const leading = alerts.filter(({ annotations }) => bookOf(annotations.runbook_url) === name)
    const named = leading.map(({ alert, labels }) => `\`${alert}\` (${labels.severity})`).join(', ')
    expect(line.replace(/^Alerts?: /, '')).toBe(named || 'No metric shows this failure.')
  })
  it('is in the list', () => {
    expect(read('docs/runbooks/README.md')).toContain(`](${name}.md)`)
  })
})

/** What an operator sees of a failure: codes, lines of a log and metrics in the first column of a table of docs/operations.md. */
function seenIn(heading: string): string[] {
  const [, section = ''] = read('docs/operations.md').split(`${heading}\n`)
  const rows = section.split(/\n## /)[0]!.matchAll(/^\| (.*?) *\|/gm)
  return [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/[`"]([^`"]+)[`"]/g)].map(([, seen = '']) => seen))
}

it.each([
  ...seenIn('## When something is wrong'),
  ...seenIn('## When log, offsets and tables do not fit together'),
  ...seenIn('## Dead letters'),
  ...seenIn('## A disk that fills up'),
  ...seenIn('## Receipts'),
])('a runbook or its alert names %s', (seen) => {
  const texts = [...runbooks.values(), ...alerts.map(({ expr }) => expr)]
  expect(texts.some((text) => text.replaceAll(/\s+/g, ' ').includes(seen.replace(/^503 /, '')))).toBe(true)
})

/** The words of a command before its arguments, as `--help` names it. */
async function helpOf(words: readonly string[]): Promise<{ path: string; help: string }> {
  for (let length = words.findIndex((word) => word.startsWith('-')) || 1; ; length -= 1) {
    const path = words.slice(0, length === -1 ? words.length : length)
    const { code, stdout } = await tributary([...path, '--help'])
    if (code === 0 && stdout.includes(`Usage: tributary ${path.join(' ')} `))
      return { path: path.join(' '), help: stdout }
    if (path.length < 2) throw new Error(`there is no command ${words.join(' ')}`)
    if (length === -1) length = words.length
  }
}

it('finds commands', () => expect(commands.length).toBeGreaterThan(40))

describe.each(commands)('npx tributary %s', (command) => {
  it('is a command with these options and arguments', async () => {
    const words = command.split(' ')
    const { path, help } = await helpOf(words)
    const given = words.slice(path.split(' ').length)
    const options = [...help.matchAll(/^ +(?:-\w, )?(--[\w-]+)( <)?/gm)].map(([, name = '', value]) => ({
      name,
      value,
    }))
    let positional = 0
    for (let at = 0; at < given.length; at += 1) {
      const option = options.find(({ name }) => name === given[at])
      if (given[at]!.startsWith('-')) expect(option, `${given[at]} of ${path}`).toBeDefined()
      else positional += 1
      if (option?.value) at += 1
    }
    const usage = help.split('\n')[0]!
    const wanted = usage.match(/<\w+>/g)?.length ?? 0
    const asksForHelp = given.includes('--help')
    expect(usage.includes('[command]') && !asksForHelp, 'a group of commands').toBe(false)
    if (!asksForHelp) expect(positional, usage).toBe(wanted)
  })
})
