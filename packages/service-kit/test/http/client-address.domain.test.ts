import { clientAddress } from '@tributary/service-kit/http/client-address'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const proxies = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8']
const behind = clientAddress(proxies)

describe('the address of a client', () => {
  test.each<[string, string | undefined, string | string[] | undefined, string]>([
    ['a direct client', '203.0.113.5', undefined, '203.0.113.5'],
    ['a direct client that claims another', '203.0.113.5', '1.1.1.1', '203.0.113.5'],
    ['one trusted hop', '10.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['several trusted hops', '10.0.0.1', '203.0.113.5, fd00::2, 192.0.2.7,10.9.9.9', '203.0.113.5'],
    ['spoofed entries left of the first untrusted one', '10.0.0.1', '10.0.0.66, 1.1.1.1, 203.0.113.5', '203.0.113.5'],
    ['a spoofed entry that looks like a proxy', '10.0.0.1', '1.1.1.1, 10.3.3.3', '1.1.1.1'],
    ['a chain of proxies only: the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['lines of the header are one list', '10.0.0.1', ['1.1.1.1', '203.0.113.5'], '203.0.113.5'],
    ['a trusted proxy without the header', '10.0.0.1', undefined, '10.0.0.1'],
    ['a neighbour of a trusted address', '192.0.2.8', '1.1.1.1', '192.0.2.8'],
    ['IPv6', 'fd00::1', '2001:DB8:0:0::5', '2001:db8::5'],
    ['an IPv6 client that is not trusted', '2001:db8::5', '1.1.1.1', '2001:db8::5'],
    ['a zone is not part of an address', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['IPv4 in IPv6, as a socket of both gives it', '::ffff:10.0.0.1', '::ffff:203.0.113.5', '203.0.113.5'],
    ['IPv4 in IPv6, in hexadecimal', '::ffff:a00:1', '::FFFF:cb00:7105', '203.0.113.5'],
    ['with ports', '10.0.0.1', '203.0.113.5:4711, 10.0.0.2:80', '203.0.113.5'],
    ['with ports and brackets', '10.0.0.1', '[2001:db8::5]:4711, [fd00::2]', '2001:db8::5'],
    ['garbage: the proxy that says so', '10.0.0.1', '203.0.113.5, unknown', '10.0.0.1'],
    ['garbage between two hops', '10.0.0.1', '203.0.113.5, <script>, 10.0.0.2', '10.0.0.2'],
    ['an empty entry', '10.0.0.1', '203.0.113.5,, 10.0.0.2', '10.0.0.2'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['numbers that only look like an address', '10.0.0.1', '010.1.1.1', '10.0.0.1'],
    ['a connection that is gone', undefined, '1.1.1.1', ''],
  ])('%s', (_what, remote, forwarded_for, address) => {
    expect(behind(remote, forwarded_for)).toBe(address)
  })

  test('without trusted proxies nobody is believed', () => {
    expect(clientAddress([])('127.0.0.1', '1.1.1.1')).toBe('127.0.0.1')
  })

  test('whatever a client writes in front, the entry of the proxy decides', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (front, entry) => {
        fc.pre(!entry.startsWith('10.') && entry !== '192.0.2.7')
        expect(behind('10.0.0.1', `${front},${entry}`)).toBe(entry)
      }),
    )
  })

  test('whatever comes, the answer is an address', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(clientAddress(['0.0.0.0/0', '::/0'])('10.0.0.1', header)).toMatch(/^[0-9a-f.:]+$/)
      }),
    )
  })
})

describe('TRIBUTARY_TRUSTED_PROXIES', () => {
  const read = (value: string) => readSettings({ TRIBUTARY_TRUSTED_PROXIES: value }, ['TRIBUTARY_TRUSTED_PROXIES'])

  test('takes addresses and CIDR ranges of both families', () => {
    const { TRIBUTARY_TRUSTED_PROXIES: found } = read(' 10.0.0.7, 10.0.0.0/8,fd00::/8 ,::1, 0.0.0.0/0')
    expect(found).toEqual(['10.0.0.7', '10.0.0.0/8', 'fd00::/8', '::1', '0.0.0.0/0'])
    expect(read('').TRIBUTARY_TRUSTED_PROXIES).toEqual([])
  })

  test.each(['10.0.0.0/33', 'fd00::/129', '10.0.0', 'loopback', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/', 'a b'])(
    'refuses to start with %s, and names it',
    (wrong) => {
      expect(() => read(`10.0.0.0/8, ${wrong}`)).toThrow(`TRIBUTARY_TRUSTED_PROXIES: "${wrong}" is no address or CIDR`)
    },
  )
})
