import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import type { Opened } from '../../parts/opener.tsx'
import { Rail } from '../rail.tsx'
import type { Place } from '../session.ts'

/** The rail over a narrow page. Another address closes it. */
export default function SmallRail({ place, isOpen, onOpenChange }: { place: Place } & Opened) {
  const { href } = useRouterState({ select: ({ location }) => location })
  const first = useRef(href)
  useEffect(() => {
    if (href !== first.current) onOpenChange(false)
  }, [href, onOpenChange])
  return (
    <ModalOverlay className="overlay" isDismissable isOpen={isOpen} onOpenChange={onOpenChange}>
      <Modal className="drawer">
        <Dialog aria-label="Pages" className="rail-dialog">
          <Rail place={place} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
