import { expect, it } from 'vitest'
import { drill, filterWords, stateOf } from '../src/pages/performance/state.ts'

const written = (words: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined))

it('opens a value by what comes next, and keeps the values before it', () => {
  const state = stateOf({ by: 'partner,campaign', country: 'DE' })
  const words = drill(state, { partner: 'acme', campaign: 'spring' }, 'campaign')
  expect(written(words)).toEqual({ partner: 'acme', campaign: 'spring', country: 'DE', by: 'ad_group' })
  expect(written(drill(state, { partner: 'acme', campaign: 'spring' }, 'partner'))).toEqual({
    ...{ partner: 'acme', country: 'DE', by: 'campaign' },
  })
})

it('keeps a filter by rows that name none in the address', () => {
  const words = written(filterWords({ campaign: '', partner: 'acme' }))
  expect(words).toEqual({ partner: 'acme', unnamed: 'campaign' })
  expect(stateOf(words).filters).toEqual({ campaign: '', partner: 'acme' })
})

it('leaves out words of an address that mean nothing', () => {
  const state = stateOf({ by: 'partner,nonsense', sort: '-d30_roas', columns: 'installs,evil', chart: 'evil' })
  expect(state).toMatchObject({ by: ['partner'], sort: '-installs', shown: ['installs'], chart: null })
})
