export const texts = {
  title: 'Events by name',
  help: 'All accepted events, duplicates left out.',
  others: 'All others',
  none: 'No events in these days.',
  totals: 'By name',
  all: 'All events',
  name: 'Event',
  events: 'Events',
  revenue: 'Revenue',
  share: 'Share',
} as const
