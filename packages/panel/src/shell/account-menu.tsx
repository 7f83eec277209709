import type { Me } from '@tributary/contracts/admin/people/own-account'
import { Opener, popup } from '../parts/opener.tsx'

const accountList = popup(() => import('./popups/account-list.tsx'))

/** The first letter of who is signed in. */
export const AccountMenu = ({ me }: { me: Me }) => (
  <Opener opens={accountList} className="button round" aria-label={`Account of ${me.email}`} given={{ me }}>
    {me.email.slice(0, 1).toUpperCase()}
  </Opener>
)
