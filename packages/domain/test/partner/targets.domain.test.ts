import fc from 'fast-check'
import { expect, test } from 'vitest'
import { literalAddress, openTargets, targetFault } from '../../src/partner/targets.ts'

const internet = openTargets([])

test.each([
  ...['127.0.0.1', '127.255.0.9', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1'],
  ...['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '192.0.2.1', '198.51.100.7', '203.0.113.9', '192.88.99.1'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', 'fe80::1'],
  ...[
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fec0::1',
  ],
  ...['', 'localhost', '8.8.8', '0x7f000001'],
])('%s is no address of the internet', (address) => {
  expect(internet.mayReach(address)).toBe(false)
})

test.each(['8.8.8.8', '172.15.255.255', '172.32.0.0', '100.63.255.255', '2606:4700::1111', '2a00:1450:4001::200e'])(
  '%s may be reached',
  (address) => {
    expect(internet.mayReach(address)).toBe(true)
  },
)

test('what is allowed may be reached whatever it is, by http and at any port too; nothing else is let in by it', () => {
  const targets = openTargets(['127.0.0.1', 'fd00::/8'])
  expect(targets.mayReach('127.0.0.1')).toBe(true)
  expect(targets.mayReach('127.0.0.2')).toBe(false)
  expect(targets.mayReach('fd12::1')).toBe(true)
  const fault = (url: string, ...addresses: string[]) => targetFault(targets, new URL(url), addresses)
  expect(fault('http://127.0.0.1:8080/', '127.0.0.1')).toBeNull()
  expect(fault('https://e.com/', '8.8.8.8')).toBeNull()
  expect(fault('https://e.com/')).toBeNull()
  expect(fault('http://e.com/', '8.8.8.8')).toContain('https')
  expect(fault('https://e.com:8443/', '8.8.8.8')).toContain('443')
  // A name with a closed address beside an open one would be reached at either.
  expect(fault('https://e.com/', '8.8.8.8', '10.0.0.1')).toContain('none of the internet')
  expect(fault('http://e.com/', '127.0.0.1', '8.8.8.8')).toContain('https')
})

test('each spelling of a closed IPv4 address that a URL takes is found in its host', () => {
  fc.assert(
    fc.property(fc.constantFrom(0x7f000001, 0x0a000001, 0xa9fea9fe, 0xc0a80101), fc.nat(5), (address, form) => {
      const [a, b, c, d] = [24, 16, 8, 0].map((bits) => (address >>> bits) & 255)
      const forms = [
        `${address >>> 0}`,
        `0x${(address >>> 0).toString(16)}`,
        `0${a!.toString(8)}.${b}.${c}.${d}`,
        `${a}.${(address & 0xffffff) >>> 0}`,
        `[::ffff:${a}.${b}.${c}.${d}]`,
        `${a}.${b}.${c}.${d}.`,
      ]
      const literal = literalAddress(new URL(`https://${forms[form]}/`))
      expect(literal === null || internet.mayReach(literal)).toBe(false)
    }),
  )
})
