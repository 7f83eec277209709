import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hostingAsns, relayAsns } from '../src/build/read-ranges.ts'
import { updateGeo } from '../src/build/update.ts'
import { openGeo } from '../src/open-geo.ts'
import { toTable, valueAt } from '../src/range-table.ts'
import { mmdbFile } from './mmdb.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tributary-geo-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const write = (name: string, text: string): string => {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}

describe('the packaged tables', () => {
  it.each([
    ['9.9.9.9', 'US'],
    ['193.99.144.80', 'DE'],
    ['2a02:2e0:3fe:1001:302::', 'DE'],
    ['133.11.0.1', 'JP'],
  ])('know the country of %s: %s', async (ip, country) => {
    const geo = await openGeo()
    expect(geo.lookUp(ip).country).toBe(country)
  })

  it.each(['3.5.140.1', '20.38.98.1', '95.216.1.1', '2a01:4f8::1', '2600:1f18::1'])(
    'know that %s is a datacenter',
    async (ip) => {
      expect((await openGeo()).lookUp(ip).datacenter).toBe(true)
    },
  )

  // Akamai's cloud, which was Linode: its servers are rented out, and no person sits behind them.
  it.each(['45.33.32.156', '139.162.1.1', '2600:3c00::1'])(
    'call %s a datacenter, though Akamai runs it too',
    async (ip) => {
      expect((await openGeo()).lookUp(ip).datacenter).toBe(true)
    },
  )

  it.each([
    ['an egress address of iCloud Private Relay at Cloudflare', '104.28.0.1'],
    ['one at Akamai', '172.224.224.1'],
    ['one at Fastly', '146.75.128.1'],
    ['a line at home in Germany', '84.128.0.1'],
  ])('call %s no datacenter', async (_what, ip) => {
    expect((await openGeo()).lookUp(ip).datacenter).toBe(false)
  })

  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '192.168.1.1',
    '172.16.0.1',
    '100.64.0.1',
    '169.254.1.1',
    '::1',
    'fd00::1',
    'fe80::1',
    '',
    'x',
  ])('know nothing of %s', async (ip) => {
    expect((await openGeo()).lookUp(ip)).toEqual({ country: null, datacenter: false })
  })

  it('name no operator of Private Relay among hosting networks', () => {
    expect(relayAsns.filter((asn) => hostingAsns().has(asn))).toEqual([])
    expect(hostingAsns().size).toBeGreaterThan(300)
  })
})

describe('a newer database', () => {
  it('is taken up without a restart, and leaves alone what it does not tell', async () => {
    const geo = await openGeo(join(dir, 'geo'))
    expect(geo.lookUp('9.9.9.9').country).toBe('US')
    const file = write('countries.csv', '9.0.0.0,9.255.255.255,FR\n')
    expect(await updateGeo(file, join(dir, 'geo'), true)).toEqual([{ kind: 'countries', family: 4, ranges: 1 }])
    await geo.reload()
    expect(geo.lookUp('9.9.9.9').country).toBe('FR')
    expect(geo.lookUp('8.8.8.8').country).toBeNull()
    expect(geo.lookUp('95.216.1.1').datacenter).toBe(true)
    expect(geo.lookUp('2a01:4f8::1').country).toBe('DE')
  })

  const bitsOf9 = '00001001'
  const bitsOf2a01 = '0010101000000001'
  it.each([
    [
      'of IPv4, records of 24 bits',
      mmdbFile(
        [
          [bitsOf9, 'FR'],
          ['0000101', 'ES'],
        ],
        4,
        24,
      ),
      ['FR', 'ES', 'DE'],
    ],
    ['of IPv4, records of 28 bits', mmdbFile([[bitsOf9, 'FR']], 4, 28), ['FR', null, 'DE']],
    [
      'of both, records of 32 bits',
      mmdbFile(
        [
          ['0'.repeat(96) + bitsOf9, 'FR'],
          [bitsOf2a01, 'IT'],
        ],
        6,
        32,
      ),
      ['FR', null, 'IT'],
    ],
  ])('may be MMDB: %s', async (_what, bytes, countries) => {
    const file = join(dir, 'countries.mmdb')
    writeFileSync(file, bytes)
    await updateGeo(file, dir, true)
    const geo = await openGeo(dir)
    expect(['9.9.9.9', '11.0.0.1', '2a01:4f8::1'].map((ip) => geo.lookUp(ip).country)).toEqual(countries)
  })

  it('of networks makes datacenters of the hosting ones', async () => {
    const file = write(
      'asn.csv',
      '9.0.0.0,9.0.0.255,24940,"Hetzner, Online"\n9.0.1.0,9.0.1.255,3320,Deutsche Telekom AG\n',
    )
    await updateGeo(file, dir, true)
    const geo = await openGeo(dir)
    expect(geo.lookUp('9.0.0.7').datacenter).toBe(true)
    expect(geo.lookUp('9.0.1.7').datacenter).toBe(false)
  })

  it.each([
    ['an empty file', ''],
    ['a line that is no range', '1.0.0.0,1.0.0.255,AU\n<html>\n'],
    ['a range that ends before it begins', '1.0.1.0,1.0.0.255,AU\n'],
    ['a file that was cut', '1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.'],
    ['countries and networks in one file', '1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.1.255,24940,x\n'],
    ['an MMDB that was cut', 'x\xab\xcd\xefMaxMind.com'],
    [
      'an MMDB without its beginning',
      mmdbFile([['00001001', 'FR']], 4, 24)
        .subarray(40)
        .toString('latin1'),
    ],
    ['far fewer addresses than are known', '1.0.0.0,1.0.0.255,AU\n'],
  ])('is refused, and nothing is changed: %s', async (_what, text) => {
    const file = join(dir, 'bad')
    writeFileSync(file, text, 'latin1')
    await expect(updateGeo(file, join(dir, 'geo'))).rejects.toThrow(expect.objectContaining({ name: 'BadGeoFile' }))
    expect((await openGeo(join(dir, 'geo'))).lookUp('9.9.9.9').country).toBe('US')
  })

  it('that is damaged later is named, and the tables before stay in use', async () => {
    const geo = await openGeo(dir)
    write('countries-ipv4.gz', 'damaged')
    await expect(geo.reload()).rejects.toThrow('countries-ipv4.gz')
    await expect(openGeo(dir)).rejects.toThrow('countries-ipv4.gz')
    expect(geo.lookUp('9.9.9.9').country).toBe('US')
  })
})

it('holds the first and the last address of a range, and of the address space', () => {
  const table = toTable(4, [
    { first: 4294967295n, last: 4294967295n, value: 3 },
    { first: 10n, last: 19n, value: 1 },
    { first: 15n, last: 29n, value: 2 },
    { first: 0n, last: 0n, value: 4 },
  ])
  const at = [0, 1, 9, 10, 19, 20, 29, 30, 4294967294, 4294967295]
  expect(at.map((number) => valueAt(table, number))).toEqual([4, 0, 0, 1, 1, 2, 2, 0, 0, 3])
})
