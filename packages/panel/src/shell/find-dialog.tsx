import { lazy, Suspense, useEffect, useState } from 'react'
import { Button } from 'react-aria-components'

const loadForm = () => import('./popups/find-form.tsx')
const FindForm = lazy(loadForm)

/** Opened by `/`, from anywhere. */
export const openFind = (): void => void window.dispatchEvent(new Event('tributary:find'))

/** `/`: an id of any kind leads to its page. */
export function FindDialog() {
  const [open, setOpen] = useState(false)
  useFindKey(() => setOpen(true))
  return (
    <>
      <Button
        className="button find-button"
        onPress={() => setOpen(true)}
        onHoverStart={() => void loadForm()}
        aria-label="Find an id"
      >
        <span>Find an id</span>
        <kbd>/</kbd>
      </Button>
      {open && (
        <Suspense>
          <FindForm onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

function useFindKey(onFind: () => void): void {
  useEffect(() => {
    window.addEventListener('tributary:find', onFind)
    return () => window.removeEventListener('tributary:find', onFind)
  }, [onFind])
}
