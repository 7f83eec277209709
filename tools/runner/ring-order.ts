import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The first ring leaves the migrated folders that others copy. The last ones have the shortest files, so that no worker is left alone with a
 * long one at the end.
 */
const order = ['clickhouse', 'failure', 'whole', 'contract', 'service', 'domain', 'prove']

/** Each has a Chromium, which takes a core for itself. */
const with_browser = /packages\/panel\/test\/.*\.whole\./

/**
 * Files by their ring; those of one ring stay in the order that vitest gives them, which is the longest first. Files with a browser are
 * spread among the others of their ring.
 */
export const byRing = <Spec extends { project: { name: string }; moduleId: string }>(files: readonly Spec[]): Spec[] =>
  order.flatMap((ring) => {
    const ofRing = files.filter(({ project }) => project.name === ring)
    const [browsers, others] = [true, false].map((has) =>
      ofRing.filter((one) => with_browser.test(one.moduleId) === has),
    )
    if (!browsers?.length || !others) return ofRing
    const each = Math.ceil(others.length / browsers.length)
    return browsers.flatMap((one, n) => [one, ...others.slice(n * each, (n + 1) * each)])
  })

/** Vitest alone begins with `clickhouse` and ends with `whole`, by the alphabet. */
export default class RingOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return byRing(await super.sort(files))
  }
}
