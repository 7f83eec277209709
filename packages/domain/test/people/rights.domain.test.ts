import type { Membership, Role } from '@tributary/contracts/admin/people/roles'
import { expect, it } from 'vitest'
import { appsOf, companiesOf, mayCall, mayGive } from '../../src/people/rights.ts'

const held = (role: Role, company_id: string | null = 'co_1', apps: string[] | null = null): Membership => ({
  ...{ role, company_id, apps },
})
const app = { company_id: 'co_1', app_id: 'app_1' }
const ofApp = { roles: ['owner', 'marketer'], over: 'app of path' } as const
const ofCompany = { roles: ['owner', 'marketer'], over: 'company of path' } as const

it.each<[what: string, Parameters<typeof mayCall>, boolean]>([
  ['a role of the route, in the company of the thing', [ofApp, [held('marketer')], app], true],
  ['a role that the route does not name', [ofApp, [held('analyst')], app], false],
  ['a role in another company', [ofApp, [held('owner', 'co_2')], app], false],
  ['one of several roles', [ofApp, [held('owner', 'co_2'), held('marketer')], app], true],
  ['a lesser role here and a greater one elsewhere', [ofApp, [held('owner', 'co_2'), held('analyst')], app], false],
  ['an app of the list', [ofApp, [held('marketer', 'co_1', ['app_1'])], app], true],
  ['an app that is not of the list', [ofApp, [held('marketer', 'co_1', ['app_2'])], app], false],
  [
    'the whole company, with a role limited to apps',
    [ofCompany, [held('marketer', 'co_1', ['app_1'])], { company_id: 'co_1' }],
    false,
  ],
  [
    'what a limited role may see of a company',
    [{ ...ofCompany, limited: true }, [held('marketer', 'co_1', ['app_1'])], { company_id: 'co_1' }],
    true,
  ],
  ['an operator where the route names none', [ofApp, [held('operator', null)], app], false],
  [
    'an operator in any company',
    [{ roles: ['operator'], over: 'company of path' }, [held('operator', null)], app],
    true,
  ],
  [
    'an owner who names no company',
    [{ roles: ['owner', 'operator'], over: 'company of query' }, [held('owner')], null],
    false,
  ],
  [
    'an operator who names no company',
    [{ roles: ['owner', 'operator'], over: 'company of query' }, [held('operator', null)], null],
    true,
  ],
  ['a route over nothing', [{ roles: ['owner'] }, [held('owner')], null], true],
  ['a person without any role', [{ roles: ['owner'] }, [], null], false],
  ['a route without roles', [{}, [held('operator', null), held('owner')], null], false],
])('%s', (_what, given, allowed) => {
  expect(mayCall(...given)).toBe(allowed)
})

it('lets a field be given by its roles alone', () => {
  expect(mayGive(['operator'], [held('owner')], app)).toBe(false)
  expect(mayGive(['operator'], [held('owner'), held('operator', null)], app)).toBe(true)
})

it('names the companies and apps that a person may see', () => {
  expect(companiesOf([held('owner'), held('analyst', 'co_2', ['app_7'])])).toEqual(new Set(['co_1', 'co_2']))
  expect(companiesOf([held('owner'), held('operator', null)])).toBeNull()
  expect(appsOf([held('analyst', 'co_2', ['app_7'])], 'co_2')).toEqual(new Set(['app_7']))
  expect(appsOf([held('owner')], 'co_1')).toBeNull()
})
