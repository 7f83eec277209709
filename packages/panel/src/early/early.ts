import { addressOf } from '../api/address.ts'
import { begin } from '../api/begun.ts'
import type { Output } from '../api/call.ts'
import { routes } from '../api/declared/routes.ts'
import { type RangeWords, windowOf } from '../api/range.ts'
import { isDoor, ownPath } from '../pages/doors.ts'
import { findPage } from '../pages/pages.ts'
import { readLastPage, readMemberships } from '../shell/preferences.ts'
import { companiesOf, hasRole } from '../shell/roles.ts'

type Held = Pick<Output<'getMe'>, 'memberships'>

/**
 * The first script of the panel. It begins what the first page needs, while the browser still loads and compiles the rest: who is here,
 * the companies and apps, the numbers of the overview, and the script of the page. `call` takes these answers.
 */
function beginFirstPage(path: string): void {
  if (isDoor(path)) return
  const address = path === '/' ? (readLastPage() ?? '/overview') : path + location.search
  const { pathname, searchParams } = new URL(address, location.origin)
  const page = findPage(pathname)
  const words: RangeWords & { app?: string } = Object.fromEntries(searchParams)
  const beginAnswers = (held: Held) => {
    void begin(addressOf('listCompanies', {}))
    for (const company_id of companiesOf(held)) void begin(addressOf('listApps', { query: { company_id } }))
    const { app: app_id = '' } = words
    if (page?.name === 'overview' && app_id !== '' && hasRole(held, routes.getAppOverview.roles))
      void begin(addressOf('getAppOverview', { params: { app_id }, query: windowOf(words) }))
  }
  const me = begin(addressOf('getMe', {}))
  const memberships = readMemberships()
  if (memberships !== null) beginAnswers({ memberships })
  else void me.then(readHeld).then((held) => held && beginAnswers(held), ignore)
  // The router loads it too, and says so if that fails.
  page?.load().catch(ignore)
}

const readHeld = async (answer: Response): Promise<Held | null> => (answer.ok ? answer.clone().json() : null)
const ignore = () => {}

try {
  beginFirstPage(ownPath())
} catch {
  // An address or the storage may hold anything. The panel begins without what was only begun early.
}
