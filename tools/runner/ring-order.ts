import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The first ring leaves the migrated folders that others copy. The last ones have the shortest files, so that no worker is left alone with a
 * long one at the end.
 */
const order = ['clickhouse', 'failure', 'whole', 'contract', 'service', 'domain']

/** Files by their ring; those of one ring stay in the order that vitest gives them, which is the longest first. */
export const byRing = <Spec extends { project: { name: string } }>(files: readonly Spec[]): Spec[] =>
  files.toSorted((a, b) => order.indexOf(a.project.name) - order.indexOf(b.project.name))

/** Vitest alone begins with `clickhouse` and ends with `whole`, by the alphabet. */
export default class RingOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return byRing(await super.sort(files))
  }
}
