import type { Role } from '@tributary/contracts/admin/people/roles'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { openPanel } from './open-panel.ts'

const numbers = ['Overview', 'Performance', 'Cohorts', 'Lifetime value', 'Events', 'Receipts', 'SKAN']
const traffic = ['Live', 'Follow', 'Installs', 'Fraud', 'What if', 'Find']
const setUp = ['Links', 'Partners', 'Costs', 'CV schema', 'Apps and keys']

/** The rail of each role (docs/people.md#roles), and the controls of changes that it finds in there. */
const roles: Record<Role, { rail: string[]; controls: string[] }> = {
  owner: {
    rail: [...numbers, ...traffic, ...setUp, 'Companies', 'Privacy', 'People', 'Audit log', 'Health'],
    controls: ['New link', 'New partner', 'Compare with the live one', 'Keys and settings', 'Save', 'Look', 'Invite'],
  },
  admin: {
    rail: [...numbers, ...traffic, ...setUp, 'Companies', 'Audit log', 'Health'],
    controls: ['New link', 'New partner', 'Compare with the live one', 'Keys and settings', 'Save'],
  },
  marketer: {
    rail: [...numbers, ...traffic, ...setUp, 'Health'],
    controls: ['New link', 'New partner', 'Compare with the live one'],
  },
  analyst: { rail: [...numbers, ...traffic, ...setUp.filter((name) => name !== 'Partners'), 'Health'], controls: [] },
  privacy: { rail: ['Overview', 'Find', 'Apps and keys', 'Privacy', 'Health'], controls: ['Look'] },
  operator: { rail: ['Overview', 'Companies', 'People', 'Audit log', 'Health'], controls: ['New company', 'Invite'] },
}
/** Pages whose requests are the same for each role that has them: one role opens them. */
const alike = new Set(['Performance', 'Cohorts', 'Lifetime value', 'Events', 'Receipts', 'Installs', 'Fraud'])
const changes = [...new Set(Object.values(roles).flatMap(({ controls }) => controls))]

await describeWith('Chromium', openPanel, ({ windowOf }) => {
  it.each(Object.keys(roles) as Role[])(
    'shows the role %s its pages and what it may change there, no more, and requests nothing that it may not',
    async (role) => {
      const { page, faults, open } = await windowOf([role])
      page.on('response', (answer) => {
        if (answer.status() >= 400) faults.push(`${answer.status()} ${answer.url()}`)
      })
      await open('overview', '.rail nav')
      const links = page.locator('.rail-link')
      const names = await links.evaluateAll((all) => all.map((one) => one.firstChild?.textContent ?? ''))
      expect(names).toEqual(roles[role].rail)
      const controls = new Set<string>()
      for (const [n, name] of names.entries()) {
        if (role !== 'analyst' && alike.has(name)) continue
        await links.nth(n).click()
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
        await page.locator('#page[aria-busy=false] > *').first().waitFor()
        await page.locator('.skeleton').first().waitFor({ state: 'detached' })
        for (const control of changes)
          if ((await page.getByRole('button', { name: control, exact: true }).count()) > 0) controls.add(control)
      }
      expect([...controls].toSorted()).toEqual(roles[role].controls.toSorted())
      expect(faults).toEqual([])

      // The address of a page that is for others says so, and asks for nothing.
      if (names.includes('People')) return
      await page.goto(page.url().replace(/admin\/.*/, 'admin/people'))
      await page.getByText('Your role does not include this page').waitFor()
      expect(faults).toEqual([])
    },
  )
})
