import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Scroller } from './scroller.tsx'

interface CopyProps {
  text: string
  label?: string
  /** What is copied, where more than one button stands. */
  name?: string
}

/** Copies a text, and says so. */
export function CopyButton({ text, label = 'Copy', name }: CopyProps) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <Button
      className="button small"
      {...(name !== undefined && { 'aria-label': `${label} ${name}` })}
      onPress={() => void copy()}
    >
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </Button>
  )
}

/** A text to copy, such as a key or a command. */
export const Snippet = ({ text, label }: { text: string; label: string }) => (
  <figure className="snippet">
    <figcaption>
      {label}
      <CopyButton text={text} />
    </figcaption>
    <Scroller label={label} className="snippet-text">
      <code>{text}</code>
    </Scroller>
  </figure>
)
