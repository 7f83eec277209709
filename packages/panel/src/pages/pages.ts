import type { Role } from '@tributary/contracts/admin/people/roles'
import type { ComponentType } from 'react'
import { routes } from '../api/declared/routes.ts'

export interface Page {
  /** Its path below `/admin/`, and its folder. */
  name: string
  title: string
  /** `g`, then this letter. */
  key?: string
  /** The group in the rail; absent: only other pages lead there. */
  group?: 'Numbers' | 'Traffic' | 'Set-up'
  /** The people whose roles may call what it shows. */
  roles: readonly Role[]
  /** Whether it shows one app. */
  of_app: boolean
  /** Shows the dates above it; pages of numbers always do. */
  dated?: true
  /** Takes an id in its path. */
  id?: true
  load: () => Promise<{ default: ComponentType }>
}

const readers = routes.getAppOverview.roles
const lookers = routes.findInApp.roles

/** Every page, in the order of the rail. */
export const pages = [
  {
    ...{ name: 'overview', title: 'Overview', key: 'o', group: 'Numbers', roles: routes.listAttention.roles },
    ...{ of_app: false, load: () => import('./overview/page.tsx') },
  },
  {
    ...{ name: 'performance', title: 'Performance', key: 'p', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./performance/page.tsx'),
  },
  {
    ...{ name: 'cohorts', title: 'Cohorts', key: 'c', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./cohorts/page.tsx'),
  },
  {
    ...{ name: 'ltv', title: 'Lifetime value', key: 'v', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./ltv/page.tsx'),
  },
  {
    ...{ name: 'events', title: 'Events', key: 'e', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./events/page.tsx'),
  },
  {
    ...{ name: 'receipts', title: 'Receipts', key: 'q', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./receipts/page.tsx'),
  },
  {
    ...{ name: 'skan', title: 'SKAN', key: 's', group: 'Numbers', roles: readers, of_app: true },
    load: () => import('./skan/page.tsx'),
  },
  {
    ...{ name: 'live', title: 'Live', key: 'l', group: 'Traffic', roles: routes.watchApp.roles, of_app: true },
    load: () => import('./live/page.tsx'),
  },
  {
    ...{ name: 'follow', title: 'Follow', key: 'x', group: 'Traffic', roles: routes.followInApp.roles },
    ...{ of_app: true, load: () => import('./follow/page.tsx') },
  },
  {
    ...{ name: 'installs', title: 'Installs', key: 'i', group: 'Traffic', roles: routes.listAppInstalls.roles },
    ...{ of_app: true, dated: true, load: () => import('./installs/page.tsx') },
  },
  {
    ...{ name: 'install', title: 'Install', roles: routes.getAppInstall.roles, of_app: true, id: true },
    load: () => import('./install/page.tsx'),
  },
  {
    ...{ name: 'fraud', title: 'Fraud', key: 'r', group: 'Traffic', roles: routes.getFraud.roles, of_app: true },
    ...{ dated: true, load: () => import('./fraud/page.tsx') },
  },
  {
    ...{ name: 'what-if', title: 'What if', key: 'w', group: 'Traffic', roles: routes.whatIf.roles, of_app: true },
    ...{ dated: true, load: () => import('./what-if/page.tsx') },
  },
  {
    ...{ name: 'find', title: 'Find', key: 'f', group: 'Traffic', roles: lookers, of_app: true },
    load: () => import('./find/page.tsx'),
  },
  {
    ...{ name: 'links', title: 'Links', key: 'k', group: 'Set-up', roles: routes.listLinks.roles },
    ...{ of_app: true, dated: true, load: () => import('./links/page.tsx') },
  },
  {
    ...{ name: 'partners', title: 'Partners', key: 'd', group: 'Set-up', roles: routes.listPartners.roles },
    ...{ of_app: true, load: () => import('./partners/page.tsx') },
  },
  {
    ...{ name: 'costs', title: 'Costs', key: 'm', group: 'Set-up', roles: routes.costsOfApp.roles, of_app: true },
    ...{ dated: true, load: () => import('./costs/page.tsx') },
  },
  {
    ...{ name: 'cv-schema', title: 'CV schema', key: 'b', group: 'Set-up', roles: routes.getCvSchema.roles },
    ...{ of_app: true, load: () => import('./cv-schema/page.tsx') },
  },
  {
    ...{ name: 'apps', title: 'Apps and keys', key: 'a', group: 'Set-up', roles: routes.listApps.roles },
    ...{ of_app: false, load: () => import('./apps/page.tsx') },
  },
  {
    ...{ name: 'companies', title: 'Companies', key: 'n', group: 'Set-up', roles: routes.changeCompany.roles },
    ...{ of_app: false, load: () => import('./companies/page.tsx') },
  },
  {
    ...{ name: 'new-app', title: 'New app', roles: [...routes.createApp.roles, ...routes.createCompany.roles] },
    ...{ of_app: false, load: () => import('./new-app/page.tsx') },
  },
  {
    ...{ name: 'privacy', title: 'Privacy', key: 'y', group: 'Set-up', roles: routes.requestErasure.roles },
    ...{ of_app: true, load: () => import('./privacy/page.tsx') },
  },
  {
    ...{ name: 'people', title: 'People', key: 'u', group: 'Set-up', roles: routes.listPeople.roles },
    ...{ of_app: false, load: () => import('./people/page.tsx') },
  },
  {
    ...{ name: 'audit-log', title: 'Audit log', key: 't', group: 'Set-up', roles: routes.readAuditLog.roles },
    ...{ of_app: false, dated: true, load: () => import('./audit-log/page.tsx') },
  },
  {
    ...{ name: 'health', title: 'Health', key: 'h', group: 'Set-up', roles: routes.listAttention.roles },
    ...{ of_app: false, load: () => import('./health/page.tsx') },
  },
  {
    ...{ name: 'account', title: 'Your account', roles: routes.listAttention.roles, of_app: false },
    load: () => import('./account/page.tsx'),
  },
] as const satisfies readonly Page[]
export type PageName = (typeof pages)[number]['name']

export const findPage = (path: string): Page | undefined => {
  const [name] = path.replace(/^\/(admin\/)?/, '').split('/')
  return pages.find((page) => page.name === name)
}
