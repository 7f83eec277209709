import { expect, test } from 'vitest'
import { findForbiddenName } from '../../src/accept/allow-list.ts'
import { namesOtherPlatform } from '../../src/accept/platform-rule.ts'

test.each<[unknown, boolean]>([
  [{ platform: 'ios' }, true],
  [{ platform: 'IOS' }, true],
  [{ props: { platform: 'iOS' } }, true],
  [{ device: { os: 'ios' } }, true],
  [{ platform: 'android', device: { os: 'iOS' } }, true],
  [{ platform: 'Android', props: { platform: 'ANDROID' }, device: { os: 'android' } }, false],
  [{ platform: 'web', device: { os: 'ios 17' } }, false],
  [{ platform: 7, props: 'ios', device: ['ios'] }, false],
  ['ios', false],
  [null, false],
])('an Android app: %j names the other platform: %s', (event, expected) => {
  expect(namesOtherPlatform(event, 'android')).toBe(expected)
})

test('an allow-list is asked only for events that have a name', () => {
  const events = [null, 'x', {}, { event_name: '' }, { event_name: 7 }, { event_name: 'purchase' }]
  expect(findForbiddenName(events, ['purchase'])).toBe(null)
  expect(findForbiddenName([...events, { event_name: 'sign_up' }], ['purchase'])).toBe('sign_up')
  expect(findForbiddenName([{ event_name: 'sign_up' }], [])).toBe(null)
})
