import {
  Autocomplete,
  Collection,
  Dialog,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Popover,
  SearchField,
  useFilter,
} from 'react-aria-components'
import type { Opened } from '../../parts/opener.tsx'
import type { Place } from '../session.ts'
import { platformName } from '../switcher.tsx'
import { useSetWords } from '../words.ts'

/** The apps by company, narrowed by what is typed. */
export default function SwitcherList({ place: { apps, companies, app }, ...popover }: { place: Place } & Opened) {
  const setWords = useSetWords()
  const { contains } = useFilter({ sensitivity: 'base' })
  const sections = companies
    .map((company) => ({
      id: company.company_id,
      name: company.name,
      apps: apps.filter((one) => one.company_id === company.company_id),
    }))
    .filter((section) => section.apps.length > 0)
  return (
    <Popover {...popover} className="popover switcher-popover" placement="bottom start">
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
            disallowEmptySelection
            onSelectionChange={(keys) => {
              const [key] = keys as Set<string>
              popover.onOpenChange(false)
              setWords({ app: key === 'all' ? undefined : key })
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
  )
}
