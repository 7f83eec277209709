import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Random } from './random.ts'

const known = [
  ...Object.values(declaredRoutes).map(({ path }) => path.replaceAll(/:\w+/g, 'x')),
  ...['/admin/', '/docs', '/docs/', '/docs/openapi.json', '/l/x'],
  ...['/', '/favicon.ico', '/.git/config'],
]

/** A strange path that HTTP allows: visible ASCII without spaces. */
export function anyPath(random: Random): string {
  const path = random.pick(known)
  const at = random.below(path.length + 1)
  const strange = [
    '%',
    '%00',
    '%2e%2e/',
    '//',
    '/../',
    '%E2%82',
    ';a=b',
    '#x',
    '\\',
    '%ff',
    "'",
    '{',
    '|',
    ':',
    '*',
    '%0d%0aX:y',
  ]
  switch (random.below(7)) {
    case 0:
      return path
    case 1:
      return `${path.slice(0, at)}${random.pick(strange)}${path.slice(at)}`
    case 2:
      return path.toUpperCase()
    case 3:
      return `${path}/${'x'.repeat(random.pick([1, 101, 3000]))}`
    case 4:
      return `${path}?${random.pick(['a', '=', '&&&', '__proto__[x]=1', `q=${'x'.repeat(3000)}`, 'a=%', '%00=1', '?'])}`
    case 5: // the same path with every character encoded
      return path.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    default:
      return `${path.slice(0, at)}${random.pick(known)}`
  }
}
