import { type ComponentType, lazy, type ReactNode, type RefObject, Suspense, useRef, useState } from 'react'
import { Button, type ButtonProps } from 'react-aria-components'

/** What a popover or a dialog needs to know of the button that opens it. */
export interface Opened {
  triggerRef: RefObject<HTMLElement | null>
  isOpen: boolean
  onOpenChange: (open: boolean) => void
}

/** What a button opens, and the import that brings it. */
interface Popup<Props extends Opened> {
  load: () => Promise<{ default: ComponentType<Props> }>
  Content: ComponentType<Props>
}

/** Something that opens and is loaded once the pointer or the focus comes near its button: it is not in the first load. */
export const popup = <Props extends Opened>(load: Popup<Props>['load']): Popup<Props> => ({
  load,
  Content: lazy(load) as unknown as ComponentType<Props>,
})

interface OpenerProps<Props extends Opened> extends Omit<ButtonProps, 'children'> {
  opens: Popup<Props>
  /** What it shows. */
  given: Omit<Props, keyof Opened>
  children: ReactNode
}

/** The button of a popup. */
export function Opener<Props extends Opened>({ opens, given, children, ...button }: OpenerProps<Props>) {
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [isOpen, onOpenChange] = useState(false)
  const { load, Content } = opens
  const comesNear = () => void load().catch(() => {})
  return (
    <>
      <Button
        {...button}
        ref={triggerRef}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onHoverStart={comesNear}
        onFocus={comesNear}
        onPress={() => onOpenChange(true)}
      >
        {children}
      </Button>
      {isOpen && (
        <Suspense>
          <Content {...({ ...given, triggerRef, isOpen, onOpenChange } as unknown as Props)} />
        </Suspense>
      )}
    </>
  )
}
