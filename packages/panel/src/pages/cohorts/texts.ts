export const texts = {
  title: 'Retention by day of install',
  help: 'Share of the installs with an event in the 24 hours that begin N times 24 hours after the install.',
  day: 'Day of install',
  installs: 'Installs',
  immature: 'Not over for every install: it may still grow',
  none: 'No installs in these days.',
  notYet: 'not yet',
  group: 'Rows',
  groups: { day: 'Days', week: 'Weeks', month: 'Months' },
} as const
