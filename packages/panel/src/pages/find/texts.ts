export const texts = {
  label: 'Install, user, transaction, event or click',
  submit: 'Find',
  nothing: 'Nothing has exactly this id.',
  nothingHelp: 'Ids are compared letter by letter. An id of another app is not found here.',
  searched: (day: string) => `Events were searched back to ${day}.`,
  kinds: { install: 'Install', user: 'User', click: 'Click', event: 'Event', transaction: 'Transaction' },
} as const
