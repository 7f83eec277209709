import { describe, expect, it } from 'vitest'
import { firstUnread, lagOf } from '../src/unread.ts'

describe('what a group has still to read', () => {
  it.each([
    ['nothing committed', { committed: null, earliest: 3, end: 10 }, 3, 7],
    ['some of it read', { committed: 5, earliest: 3, end: 10 }, 5, 5],
    ['all of it read', { committed: 10, earliest: 3, end: 10 }, 10, 0],
    ['records dropped before they were read', { committed: 1, earliest: 3, end: 10 }, 3, 7],
    ['a log that went backwards', { committed: 20, earliest: 3, end: 10 }, 3, 7],
    ['a log that is empty again', { committed: 20, earliest: 0, end: 0 }, 0, 0],
    ['an emptied partition', { committed: 7, earliest: 10, end: 10 }, 10, 0],
  ])('is what will be read: %s', (_, place, first, lag) => {
    expect(firstUnread(place)).toBe(first)
    expect(lagOf(place)).toBe(lag)
  })
})
