import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Writes API.md: the declarations of the published modules and of every type that they name, with their docstrings. */
const here = import.meta.dirname
const target = join(here, 'API.md')

/** All exported declarations of the package by name, as the compiler prints them. */
function declarations(): Map<string, { module: string; text: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-api-'))
  const tsc = join(here, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc')
  const project = join(here, 'tsconfig.pack.json')
  execFileSync(process.execPath, [tsc, '-p', project, '--emitDeclarationOnly', '--outDir', folder])
  const found = new Map<string, { module: string; text: string }>()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.d.ts'),
  )) {
    const source = readFileSync(join(folder, file), 'utf8')
    const all =
      /(?:^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^(?:export )?(?:declare )?(?:interface|class|type|function|const) (\w+)(?:.*;$|[\s\S]*?^\}.*$)/gm
    for (const [text, name] of source.matchAll(all)) found.set(name!, { module: file.replace('.d.ts', ''), text })
  }
  rmSync(folder, { recursive: true })
  return found
}

const { publishConfig } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
const modules = Object.keys(publishConfig.exports).map((path) => path.replace('./', ''))
const known = declarations()
const described = new Set<string>()

/** The declarations of these names, each once. The unpublished declarations that they name follow. */
function describe(names: readonly string[]): string[] {
  const fresh = [...new Set(names)].filter((name) => known.has(name) && !described.has(name))
  for (const name of fresh) described.add(name)
  const texts = fresh.map((name) => known.get(name)!.text)
  const named = texts.flatMap((text) => text.replaceAll(/\/\*\*[\s\S]*?\*\//g, '').match(/\b[A-Z]\w+/g) ?? [])
  const unpublished = named.filter((name) => !modules.includes(known.get(name)?.module ?? ''))
  return texts.length === 0 ? [] : [...texts, ...describe(unpublished)]
}

const sections = modules.map((module) => {
  const own = [...known].filter(([, one]) => one.module === module).map(([name]) => name)
  return `## @tributary/client/${module}\n\n\`\`\`ts\n${describe(own).join('\n\n').replaceAll('declare ', '')}\n\`\`\`\n`
})
const text = `# API of @tributary/client\n\nMade from the docstrings by \`npm run dump\`.\n\n${sections.join('\n')}`

if (!process.argv.includes('--check')) writeFileSync(target, text)
else if (readFileSync(target, 'utf8') !== text) {
  console.error('packages/client/API.md differs from the docstrings. Run `npm run dump` and commit it.')
  process.exitCode = 1
}
