import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The rings of tests, in the order in which they run. The first leaves the migrated folders that others copy. `domain` has the shortest
 * files, so that no worker is left alone with a long one at the end. `prove` runs by itself.
 */
export const rings = ['clickhouse', 'failure', 'whole', 'contract', 'service', 'domain', 'prove'] as const

interface TestFile {
  project: { name: string }
  moduleId: string
}

/** Files by their ring. Those of a ring stay in the order that vitest gives them, the longest first, but for files with a browser. */
export const byRing = <File extends TestFile>(files: readonly File[]): File[] =>
  rings.flatMap((ring) => spreadBrowsers(files.filter(({ project }) => project.name === ring)))

/** Each has a Chromium, which takes a core for itself. */
const hasBrowser = ({ moduleId }: TestFile): boolean => /packages\/panel\/test\/.*\.whole\./.test(moduleId)

/** The same files, those with a browser spread among the others. */
function spreadBrowsers<File extends TestFile>(files: File[]): File[] {
  const { browsers = [], others = [] } = Object.groupBy(files, (file) => (hasBrowser(file) ? 'browsers' : 'others'))
  if (browsers.length === 0) return others
  const each = Math.ceil(others.length / browsers.length)
  return browsers.flatMap((file, n) => [file, ...others.slice(n * each, (n + 1) * each)])
}

/** Vitest alone begins with `clickhouse` and ends with `whole`, by the alphabet. */
export default class RingOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return byRing(await super.sort(files))
  }
}
