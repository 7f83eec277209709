import type { ReportDimension } from '@tributary/contracts/report-parameters'

const dimensions: Record<ReportDimension, string> = {
  partner: 'Partner',
  campaign: 'Campaign',
  ad_group: 'Ad group',
  creative: 'Creative',
  link_id: 'Link',
  sub1: 'Sub 1',
  sub2: 'Sub 2',
  sub3: 'Sub 3',
  sub4: 'Sub 4',
  sub5: 'Sub 5',
  country: 'Country',
  attribution_type: 'Attribution',
}

export const texts = {
  title: 'What each brought',
  help: 'Installs of these days, what they brought until now, and the clicks and costs of the same days. Click a value to see what is in it.',
  dimensions,
  by: 'Rows by',
  add: 'Add',
  addDimension: 'Add a dimension',
  only: 'Only',
  remove: 'Remove',
  all: 'All traffic',
  period: 'Period',
  periods: { none: 'All days together', day: 'Day', week: 'Week', month: 'Month' },
  columns: 'Columns',
  figures: 'Figures',
  ofDay: (n: number) => `Until day ${n} of the install`,
  chart: 'Chart of',
  noChart: 'No chart',
  chartTitle: (figure: string, of: string) => `${figure} by ${of.toLowerCase()}`,
  chartHelp: (n: number, of: string, rank: string) =>
    `The ${n} with the most ${rank.slice(0, 1).toLowerCase()}${rank.slice(1)}, by the ${of.toLowerCase()} of the install.`,
  chartImmature: 'A day is left out until it is over for all of its installs.',
  noValue: '(none)',
  noCostValue: '(costs that name none)',
  drill: (value: string) => `Show what is in ${value}`,
  none: 'No installs, clicks or costs in these days.',
  immature: 'May still grow: that day is not over for every install.',
  mature: (day: string) => `Show installs until ${day} alone`,
  first: (shown: string, all: string) =>
    `The first ${shown} of ${all} rows in this order. The last row adds up all of them, and CSV has all of them.`,
  allRows: 'All rows',
  paid: 'Partners with cost',
  uncosted: (days: number) =>
    `Costs of the last ${days === 1 ? 'day are not there yet, the revenue of its' : `${days} days are not there yet, the revenue of their`} installs is.`,
  tooMany:
    'So many rows take long to count and nobody reads them. Take fewer dimensions, one period for all days, a shorter window, or a filter.',
  together: 'All days together',
  fewer: (dimension: string) => `Without ${dimension}`,
  noCosts: (names: string) => `Costs never name ${names}: cost, CPI and ROAS are absent here.`,
  noClicks: (names: string) => `Clicks are not counted by ${names}.`,
} as const
