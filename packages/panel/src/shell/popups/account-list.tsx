import { useQueryClient } from '@tanstack/react-query'
import type { Me } from '@tributary/contracts/admin/people/own-account'
import { useState } from 'react'
import { Header, Menu, MenuItem, MenuSection, Popover, Separator } from 'react-aria-components'
import { call } from '../../api/call.ts'
import type { Opened } from '../../parts/opener.tsx'
import { applyTheme, areKeysOn, readTheme, switchKeys, type Theme, themes } from '../preferences.ts'
import { forgetPerson } from '../session.ts'
import { useOpen } from '../words.ts'

const themeNames: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' }

/** Who is signed in, how the panel looks, and the way out. */
export default function AccountList({ me, ...popover }: { me: Me } & Opened) {
  const [theme, setTheme] = useState(readTheme)
  const [keys, setKeys] = useState(areKeysOn)
  const client = useQueryClient()
  const open = useOpen()
  const signOut = async () => {
    await call('signOut', {}).catch(() => {})
    forgetPerson()
    client.clear()
    location.assign('/admin/sign-in')
  }
  return (
    <Popover {...popover} className="popover" placement="bottom end">
      <p className="menu-head cut">{me.email}</p>
      <Menu className="list" aria-label="Account" autoFocus onClose={() => popover.onOpenChange(false)}>
        <MenuSection
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[theme]}
          onSelectionChange={(chosen) => {
            const next = themes.find((one) => one === [...(chosen as Set<string>)][0]) ?? 'system'
            setTheme(next)
            applyTheme(next)
          }}
        >
          <Header className="list-header">Colours</Header>
          {themes.map((one) => (
            <MenuItem key={one} id={one} className="list-item">
              {themeNames[one]}
            </MenuItem>
          ))}
        </MenuSection>
        <Separator className="separator" />
        <MenuSection
          aria-label="Keys"
          selectionMode="multiple"
          selectedKeys={keys ? ['keys'] : []}
          onSelectionChange={(chosen) => {
            const on = (chosen as Set<string>).has('keys')
            setKeys(on)
            switchKeys(on)
          }}
        >
          <MenuItem id="keys" className="list-item">
            Single-key shortcuts
          </MenuItem>
        </MenuSection>
        <Separator className="separator" />
        <MenuItem id="account" className="list-item" onAction={() => open('account')}>
          Your account
        </MenuItem>
        <MenuItem id="out" className="list-item" onAction={() => void signOut()}>
          Sign out
        </MenuItem>
      </Menu>
    </Popover>
  )
}
