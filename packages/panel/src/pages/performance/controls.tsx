import type { ReportDimension } from '@tributary/contracts/report-parameters'
import {
  Button,
  Header,
  Label,
  Menu,
  MenuItem,
  MenuSection,
  MenuTrigger,
  Popover,
  Tag,
  TagGroup,
  TagList,
} from 'react-aria-components'
import { Choice } from '../../parts/choice.tsx'
import { titleOf } from '../../parts/figure/report-columns.ts'
import { useSetWords } from '../../shell/words.ts'
import { nameOf } from './columns.tsx'
import {
  dayFigures,
  dimensions,
  dimensions_max,
  figureDays,
  figures,
  filterWords,
  periods,
  type State,
} from './state.ts'
import { texts } from './texts.ts'

const byWord = (by: readonly ReportDimension[]) => by.join(',') || 'nothing'

/** What rows are of, and of what alone. */
export function Controls({ state: { by, filters, period, shown, chart } }: { state: State }) {
  const setWords = useSetWords()
  const rest = dimensions.filter((one) => !by.includes(one))
  const only = dimensions.filter((one) => filters[one] !== undefined)
  const charted = [...new Set([...shown, ...(chart === null ? [] : [chart])])]
  return (
    <div className="filters">
      <div className="chips">
        <Tags
          label={texts.by}
          tags={by.map((id) => ({ id, name: texts.dimensions[id] }))}
          onRemove={(gone) => setWords({ by: byWord(by.filter((one) => one !== gone)) })}
        />
        {by.length < dimensions_max && (
          <MenuTrigger>
            <Button className="button small" aria-label={texts.addDimension}>
              + {texts.add}
            </Button>
            <Popover className="popover">
              <Menu className="list" onAction={(key) => setWords({ by: byWord([...by, key as ReportDimension]) })}>
                {rest.map((one) => (
                  <MenuItem key={one} id={one} className="list-item">
                    {texts.dimensions[one]}
                  </MenuItem>
                ))}
              </Menu>
            </Popover>
          </MenuTrigger>
        )}
      </div>
      {only.length > 0 && (
        <div className="chips">
          <Tags
            label={texts.only}
            tags={only.map((id) => ({ id, name: `${texts.dimensions[id]}: ${nameOf(filters[id] ?? '')}` }))}
            onRemove={(gone) => setWords(filterWords({ ...filters, [gone]: undefined }))}
          />
        </div>
      )}
      <div className="chips end">
        <Choice
          label={texts.period}
          value={period}
          options={periods.map((id) => ({ id, name: texts.periods[id] }))}
          onChange={(next) => setWords({ period: next === 'none' ? undefined : next })}
        />
        <Choice
          label={texts.chart}
          value={chart ?? 'none'}
          options={[{ id: 'none', name: texts.noChart }, ...charted.map((id) => ({ id, name: titleOf(id) }))]}
          onChange={(next: string) => setWords({ chart: next }, { replace: true })}
        />
      </div>
    </div>
  )
}

interface TagsProps {
  label: string
  tags: readonly { id: ReportDimension; name: string }[]
  onRemove: (id: ReportDimension) => void
}

const Tags = ({ label, tags, onRemove }: TagsProps) => (
  <TagGroup className="tags" onRemove={([gone]) => onRemove(gone as ReportDimension)}>
    <Label className="choice-label">{label}</Label>
    <TagList className="tag-list" renderEmptyState={() => <span className="quiet">{texts.all}</span>}>
      {tags.map(({ id, name }) => (
        <Tag key={id} id={id} textValue={name} className="tag">
          <span className="cut">{name}</span>
          <Button slot="remove" className="tag-remove" aria-label={texts.remove}>
            <span aria-hidden="true">×</span>
          </Button>
        </Tag>
      ))}
    </TagList>
  </TagGroup>
)

/** Which figures the table has. */
export function ColumnMenu({ state: { shown } }: { state: State }) {
  const setWords = useSetWords()
  const sections = [
    { name: texts.figures, ids: figures },
    ...figureDays.map((n) => ({ name: texts.ofDay(n), ids: dayFigures.map((one) => `d${n}_${one}`) })),
  ]
  return (
    <MenuTrigger>
      <Button className="button small">
        {texts.columns}
        <span aria-hidden="true" className="caret" />
      </Button>
      <Popover className="popover" placement="bottom end">
        <Menu
          className="list"
          selectionMode="multiple"
          disallowEmptySelection
          selectedKeys={shown}
          onSelectionChange={(keys) => {
            if (keys !== 'all') setWords({ columns: [...keys].join(',') }, { replace: true })
          }}
        >
          {sections.map(({ name, ids }) => (
            <MenuSection key={name}>
              <Header className="list-header">{name}</Header>
              {ids.map((id) => (
                <MenuItem key={id} id={id} className="list-item">
                  {titleOf(id)}
                </MenuItem>
              ))}
            </MenuSection>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

/** The ways out of a report of too many rows. */
export function Fewer({ state: { by, period } }: { state: State }) {
  const setWords = useSetWords()
  const last = by.at(-1)
  return (
    <div className="line">
      <p className="quiet">{texts.tooMany}</p>
      {period !== 'none' && (
        <Button className="button" onPress={() => setWords({ period: undefined })}>
          {texts.together}
        </Button>
      )}
      {last !== undefined && (
        <Button className="button" onPress={() => setWords({ by: byWord(by.slice(0, -1)) })}>
          {texts.fewer(texts.dimensions[last].toLowerCase())}
        </Button>
      )}
    </div>
  )
}
