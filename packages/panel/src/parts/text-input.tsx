import type { ReactNode } from 'react'
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from 'react-aria-components'

interface TextInputProps extends Omit<TextFieldProps, 'children'> {
  label: string
  help?: ReactNode
  placeholder?: string
  mono?: boolean
}

/** A named field for text, with its help and its fault below. */
export const TextInput = ({ label, help, placeholder, mono, ...props }: TextInputProps) => (
  <TextField {...props} className="field">
    <Label>{label}</Label>
    <Input placeholder={placeholder} className={mono ? 'input mono' : 'input'} spellCheck={false} />
    {help !== undefined && (
      <Text slot="description" className="quiet">
        {help}
      </Text>
    )}
    <FieldError className="field-fault" />
  </TextField>
)
