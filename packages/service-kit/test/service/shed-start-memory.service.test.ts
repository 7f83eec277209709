import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { shedStartMemory } from '../../src/service/shed-start-memory.ts'

test('what nothing refers to is given back', async () => {
  const reference = new WeakRef({ text: 'x'.repeat(100) })
  await nextTick() // a reference that was made or read in this task holds its object until the task ends
  shedStartMemory()
  expect(reference.deref()).toBeUndefined()
})
