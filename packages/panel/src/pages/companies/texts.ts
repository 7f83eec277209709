import type { Plan } from '@tributary/contracts/admin/companies'

const planNames: Record<Plan, string> = { free: 'free', growth: 'growth', scale: 'scale', unlimited: 'unlimited' }
export const plans = (Object.keys(planNames) as Plan[]).map((id) => ({ id, name: planNames[id] }))

export const texts = {
  title: 'Companies',
  help: 'A company has its apps, its people, its quota, and how long its data is kept.',
  none: 'No company yet.',
  newCompany: 'New company',
  close: 'Close',
  name: 'Name',
  plan: 'Plan',
  state: 'State',
  active: 'active',
  suspended: 'suspended',
  used: 'Events a month',
  unlimited: 'no limit',
  keeps: { keep_ip_days: 'Addresses (days)', keep_click_days: 'Clicks (days)', keep_raw_days: 'Raw events (days)' },
  forever: 'for ever',
  made: 'Made',
  key: 'Company key',
  make: 'Make the company',
  makeHelp: 'It has nobody at first: invite its owner, who makes its apps.',
  madeNow: (name: string) => `${name} is made. Invite its owner under`,
  people: 'People',
  retention: 'How long data is kept',
  retentionHelp:
    'In whole UTC days. A change acts in the next night, and what a night removed does not come back. Numbers of reports stay.',
  more: 'What each setting removes',
  ip: 'Addresses and user agents (days)',
  clicks: 'Clicks (days)',
  raw: 'Raw events (days)',
  rawHelp: 'Empty: for ever',
  whole: (max: number) => `1 to ${max}`,
  keep: 'Save',
  kept: 'Saved. It acts from the next night on.',
  counting: 'Counting what the next night would delete.',
  expiring: (gone: string, all: string) =>
    `The next night deletes ${gone} of ${all} raw events. They do not come back.`,
  apply: 'Save, and let the night delete them',
  cancel: 'Leave it as it is',
  quota: 'Plan and quota',
  quotaHelp: 'A plan brings its quota of events. Another number replaces it.',
  monthly: 'Other quota (events a month)',
  monthlyHelp: 'Empty: that of the plan',
  change: 'Change',
  changed: 'Changed, for all gateways at once.',
  suspension: 'Suspension',
  suspend: 'Suspend',
  suspendHelp:
    'Within 10 seconds all keys of a suspended company answer company_suspended. Its data stays, and erasures go on.',
  reinstate: 'Reinstate',
} as const
