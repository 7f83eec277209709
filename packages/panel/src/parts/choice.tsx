import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from 'react-aria-components'

interface ChoiceProps<Value extends string> {
  label: string
  /** Shows the label only to screen readers. */
  quiet?: boolean
  value: Value
  options: readonly { id: Value; name: string }[]
  onChange: (value: Value) => void
}

/** One of a few values. */
export const Choice = <Value extends string>({ label, quiet, value, options, onChange }: ChoiceProps<Value>) => (
  <Select
    className="choice"
    selectedKey={value}
    onSelectionChange={(key) => onChange(key as Value)}
    {...(quiet && { 'aria-label': label })}
  >
    {!quiet && <Label className="choice-label">{label}</Label>}
    <Button className="button">
      <SelectValue />
      <span aria-hidden="true" className="caret" />
    </Button>
    <Popover className="popover">
      <ListBox className="list" items={options}>
        {({ id, name }) => (
          <ListBoxItem id={id} className="list-item" textValue={name}>
            {name}
          </ListBoxItem>
        )}
      </ListBox>
    </Popover>
  </Select>
)
