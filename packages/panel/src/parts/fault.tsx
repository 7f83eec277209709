import { Button } from 'react-aria-components'
import { ApiError, explain } from '../api/api-error.ts'

/** An error as a person can act on it: its code, what it means, and what to do. */
export function Fault({ error, retry }: { error: unknown; retry?: () => void }) {
  const { code, meaning, fix, docs } = explain(error)
  const { request_id, field } = error instanceof ApiError ? error : {}
  return (
    <div className="fault" role="alert">
      <p>
        <strong>{meaning}</strong> {fix}
      </p>
      <p className="quiet">
        Code {docs === null ? <code>{code}</code> : <a href={docs}>{code}</a>}
        {field !== undefined && (
          <>
            , field <code>{field}</code>
          </>
        )}
        {request_id !== undefined && (
          <>
            , request <code>{request_id}</code>
          </>
        )}
      </p>
      {retry && (
        <Button className="button" onPress={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}
