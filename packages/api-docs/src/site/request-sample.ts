import type { Resolve } from './fields.ts'
import type { Operation, Parameter } from './openapi.ts'

/** A request with curl that may be pasted once its variables are set. */
export function requestSample(method: string, path: string, operation: Operation, resolve: Resolve): string {
  const parameters = operation.parameters.map((one) => resolve(one) as unknown as Parameter)
  const exampleOf = ({ name, example }: Parameter) => encodeURIComponent(String(example ?? name))
  const inPath = new Map(parameters.filter((one) => one.in === 'path').map((one) => [one.name, exampleOf(one)]))
  const given = parameters.filter((one) => one.in === 'query' && (one.required === true || one.example !== undefined))
  const schemes = new Set(Object.keys(operation.security[0] ?? {}))
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const [example] = Object.values(body?.examples ?? {})
  const text = example === undefined ? undefined : textOf(example.value)
  const signed = schemes.has('signature')
  const address = path.replaceAll(/\{(\w+)\}/g, (_whole, name) => inPath.get(name) ?? name)
  const headers = [
    ...(schemes.has('server_key') ? ['"Authorization: Bearer $SERVER_KEY"'] : []),
    ...(schemes.has('admin_token') ? ['"Authorization: Bearer $TRIBUTARY_ADMIN_TOKEN"'] : []),
    ...(schemes.has('company_key') ? ['"X-Service-Company-Key: $COMPANY_KEY"'] : []),
    ...(schemes.has('app_key') ? ['"X-Service-App-Key: $APP_KEY"'] : []),
    ...(signed ? ['"X-Service-Signature: $SIGNATURE"'] : []),
    ...(type === undefined ? [] : [`'Content-Type: ${type}'`]),
  ]
  const lines = [
    `curl ${given.length > 0 ? '-G ' : ''}${method === 'GET' ? '' : `-X ${method} `}"$TRIBUTARY_URL${address}"`,
    ...headers.map((header) => `-H ${header}`),
    ...given.map((one) => `-d ${one.name}=${exampleOf(one)}`),
    ...(text === undefined ? [] : [signed ? '--data-binary "$BODY"' : `--data-binary ${quoted(text)}`]),
  ]
  const curl = lines.join(' \\\n  ')
  if (!signed || text === undefined) return curl
  const signature = `SIGNATURE=$(printf '%s' "$BODY" |\n  openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d' ' -f1)`
  return `BODY=${quoted(text)}\n${signature}\n${curl}`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
const quoted = (text: string): string => ["'", text.replaceAll("'", String.raw`'\''`), "'"].join('')
