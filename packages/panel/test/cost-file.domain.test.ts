import { expect, it } from 'vitest'
import { type CostFile, costOf, findTwice, guess, uploadsOf } from '../src/pages/costs/upload/cost-file.ts'

it('fills fields from the columns that other tools name so, and leaves the rest to the person', () => {
  expect(guess(['Date', ' Ad Set Name', 'Amount Spent', 'Country-Code', 'note'])).toMatchObject({
    ...{ day: { column: 'Date' }, ad_group: { column: ' Ad Set Name' }, cost: { column: 'Amount Spent' } },
    ...{ country: { column: 'Country-Code' }, partner: { text: '' }, clicks: { text: '' } },
  })
})

it('sends numbers as numbers and leaves out what is empty; what is no number stays as it stands', () => {
  const mapping = { ...guess(['day', 'cost', 'clicks', 'campaign']), partner: { text: ' acme ' } }
  const line = { day: '2026-06-01', cost: '1.50', clicks: '1,000', campaign: '' }
  expect(costOf(line, mapping)).toEqual({ day: '2026-06-01', partner: 'acme', cost: 1.5, clicks: '1,000' })
})

it('sends each line of a file once, in order, in requests of at most so many', () => {
  const lines = Array.from({ length: 5 }, (_, n) => ({ row: n + 2, texts: { cost: `${n}` } }))
  const file: CostFile = { name: 'f', as_of_ms: 7, columns: ['cost'], lines }
  const sent = [...uploadsOf(file, guess(['cost']), 2)]
  expect(sent.map(({ costs }) => costs.length)).toEqual([2, 2, 1])
  expect(sent.flatMap(({ costs }) => costs)).toEqual(lines.map((_, n) => ({ cost: n })))
})

it('finds two rows of which only one would count: the case of letters tells campaigns apart, and no partners', () => {
  const line = (row: number, day: string, partner: string) => ({ row, texts: { day, partner, ad: `${row}` } })
  const mapping = guess(['day', 'partner'])
  const apart = [line(2, '2026-06-01', 'acme'), line(4, '2026-06-02', 'acme')]
  expect(findTwice({ lines: apart }, mapping)).toBeNull()
  expect(findTwice({ lines: [...apart, line(5, '2026-06-02', 'Acme')] }, mapping)).toEqual([4, 5])
  const ofCampaign = (row: number, campaign: string) => ({
    row,
    texts: { day: '2026-06-01', partner: 'acme', campaign },
  })
  const spellings = [ofCampaign(2, 'Spring'), ofCampaign(3, 'spring')]
  expect(findTwice({ lines: spellings }, guess(['day', 'partner', 'campaign']))).toBeNull()
})
