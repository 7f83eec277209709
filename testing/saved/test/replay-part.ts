import { expect, it } from 'vitest'
import { stories } from '../make/stories.ts'
import { firstDifference, readHistory, readOutcome, replay } from '../replay.ts'

/** Test files among which the histories are divided. */
const parts = 4

/** One test for each history of a part (from 0): a new product answers all its requests as it was saved. */
export function replayPart(part: number): void {
  const names = [...stories.keys()].filter((_, at) => at % parts === part)
  it.each(names)('the product answers the saved history %s as ever', async (name) => {
    const difference = firstDifference(readOutcome(name), await replay(readHistory(name)))
    expect(difference, difference ?? '').toBeNull()
  })
}
