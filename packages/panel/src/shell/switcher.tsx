import { useState } from 'react'
import {
  Autocomplete,
  Button,
  Collection,
  Dialog,
  DialogTrigger,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Popover,
  SearchField,
  useFilter,
} from 'react-aria-components'
import type { Place } from './session.ts'
import { useSetWords } from './words.ts'

const platforms: Record<string, string> = { ios: 'iOS', android: 'Android' }
export const platformName = (platform: string): string => platforms[platform] ?? platform

/** Chooses the app, of any company of the person. */
export function Switcher({ place: { apps, companies, app } }: { place: Place }) {
  const [open, setOpen] = useState(false)
  const setWords = useSetWords()
  const { contains } = useFilter({ sensitivity: 'base' })
  const nameOf = (id: string) => companies.find(({ company_id }) => company_id === id)?.name ?? id
  const sections = companies
    .map((company) => ({
      id: company.company_id,
      name: company.name,
      apps: apps.filter((one) => one.company_id === company.company_id),
    }))
    .filter((section) => section.apps.length > 0)
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="switcher">
        <span className="switcher-mark" aria-hidden="true">
          {(app?.name ?? 'All').trim().slice(0, 1).toUpperCase()}
        </span>
        <span className="switcher-name">
          <strong>{app?.name ?? 'All apps'}</strong>
          <span className="quiet">
            {app ? `${nameOf(app.company_id)} · ${platformName(app.platform)}` : `${apps.length} apps`}
          </span>
        </span>
        <span aria-hidden="true" className="caret" />
      </Button>
      <Popover className="popover switcher-popover" placement="bottom start">
        <Dialog aria-label="Choose an app">
          <Autocomplete filter={contains}>
            <SearchField aria-label="Search apps" autoFocus className="search">
              <Input className="input" placeholder="Search apps" />
            </SearchField>
            <ListBox
              className="list"
              aria-label="Apps"
              selectionMode="single"
              selectedKeys={[app?.app_id ?? 'all']}
              onAction={(key) => {
                setOpen(false)
                setWords({ app: key === 'all' ? undefined : String(key) })
              }}
              renderEmptyState={() => <p className="quiet list-empty">No app has this name.</p>}
            >
              <ListBoxItem id="all" className="list-item" textValue="All apps">
                All apps
              </ListBoxItem>
              {sections.map((section) => (
                <ListBoxSection key={section.id} id={section.id}>
                  <Header className="list-header">{section.name}</Header>
                  <Collection items={section.apps}>
                    {(one) => (
                      <ListBoxItem id={one.app_id} className="list-item" textValue={`${one.name} ${section.name}`}>
                        <span className="cut">{one.name}</span>
                        <span className="quiet">{platformName(one.platform)}</span>
                      </ListBoxItem>
                    )}
                  </Collection>
                </ListBoxSection>
              ))}
            </ListBox>
          </Autocomplete>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}
