export const texts = {
  title: 'Revenue per install, by day since the install',
  help: 'Money that the installs of these days brought, by partner. The dashed line is the cost per install of the partners with cost: a curve above it has earned its money back.',
  cost: (text: string) => `Cost per install ${text}`,
  day: (n: string) => `Day ${n}`,
  none: 'No installs in these days.',
  immature: 'A curve ends where the day is not over for all of its installs.',
} as const
