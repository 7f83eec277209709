import { afterEach, expect, it, vi } from 'vitest'

let loads = 0

/** Loads the first script of the panel at an address, with what the browser remembers. Gives back the addresses that it asks for. */
async function load(address: string, remembered: Record<string, string> = {}): Promise<string[]> {
  const asked: string[] = []
  vi.stubGlobal('location', new URL(address, 'https://panel.example'))
  vi.stubGlobal('localStorage', { getItem: (name: string) => remembered[name] ?? null })
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path)
    return Response.json({ memberships: [] })
  })
  loads += 1
  await import(`../../src/early/early.ts?load=${loads}`) // anew each time
  return asked
}

afterEach(() => void vi.unstubAllGlobals())

it('asks who is here and what the first page shows, by the roles of the last visit', async () => {
  const memberships = JSON.stringify([{ role: 'owner', company_id: 'c1' }])
  const asked = await load('/admin/overview?app=a1&range=7d', { 'tributary.memberships': memberships })
  expect(asked.map((address) => address.replace(/_ms=\d+/g, '_ms='))).toEqual([
    '/admin/api/v1/me',
    '/admin/api/v1/companies',
    '/admin/api/v1/apps?company_id=c1',
    '/admin/api/v1/apps/a1/overview?since_ms=&until_ms=',
  ])
})

it.each([
  ['address', '/admin//', {}],
  ['last page', '/admin/', { 'last-page': '//' }],
  ['list of roles', '/admin/overview', { memberships: '[null]' }],
])('an odd %s does not keep the panel from its start', async (_name, address, remembered) => {
  const kept = Object.fromEntries(Object.entries(remembered).map(([name, value]) => [`tributary.${name}`, value]))
  await expect(load(address, kept)).resolves.toBeInstanceOf(Array)
})
