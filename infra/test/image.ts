import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

export interface Dockerfile {
  /** Images of its stages. */
  from: string[]
  /** Paths that the first stage copies from the checkout. */
  copied: { sources: string[]; target: string }[]
  /** Commands of the first stage. */
  run: string[]
  env: Record<string, string>
  entrypoint: string[]
  user: string | undefined
}

/** Reads the parts of infra/Dockerfile that are needed to build the image without Docker. */
export function readDockerfile(): Dockerfile {
  const lines = read('infra/Dockerfile').match(/^[A-Z]+ .*$/gm) ?? []
  const all = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))
  return {
    from: all('FROM').map((rest) => rest.split(' ')[0] ?? ''),
    copied: all('COPY')
      .filter((rest) => !rest.startsWith('--from'))
      .map((rest) => ({ sources: rest.split(' ').slice(0, -1), target: rest.split(' ').at(-1) ?? '' })),
    run: all('RUN'),
    env: Object.fromEntries(all('ENV').map((pair) => pair.split('=') as [string, string])),
    entrypoint: JSON.parse(all('ENTRYPOINT')[0] ?? '[]'),
    user: all('USER')[0],
  }
}

/** Runs the copies and commands of the Dockerfile in `dir`, with the files that .dockerignore allows. */
export async function buildImage(dir: string): Promise<void> {
  const { copied, run } = readDockerfile()
  const rules = readIgnoreRules()
  for (const { sources, target } of copied) {
    for (const source of sources) {
      const to = join(dir, target, sources.length > 1 || target === './' ? source : '')
      await mkdir(join(to, '..'), { recursive: true })
      const filter = (path: string) => !isIgnored(relative(root, path), rules)
      await cp(join(root, source), to, { recursive: true, filter })
    }
  }
  // The node of the image, which runs these tests too.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  for (const command of run) await promisify(execFile)('sh', ['-ec', command], { cwd: dir, env, timeout: 300_000 })
}

interface IgnoreRule {
  glob: string
  lets: boolean
}

const readIgnoreRules = (): IgnoreRule[] =>
  read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ glob: line.replace(/^!/, ''), lets: line.startsWith('!') }))

/** The last rule that matches the path, or a folder above it, decides. */
function isIgnored(path: string, rules: readonly IgnoreRule[]): boolean {
  const names = path.split('/')
  const above = names.map((_name, index) => names.slice(0, index + 1).join('/'))
  const last = rules.findLast(({ glob }) => above.some((one) => matchesGlob(one, glob)))
  return last !== undefined && !last.lets
}
