import {
  type PostbackContent,
  type PostbackField,
  type PostbackSettings,
  postbackFields,
} from '@tributary/contracts/partner-postback'

/** A template that was read: where a postback goes, and its path with macros. */
export interface Template {
  /** Without macros, user and password. */
  origin: URL
  /** `user:password`, decoded; null without any. */
  credentials: string | null
  /** Path and query with macros, as they stand in the template. */
  path: string
}

const known: ReadonlySet<string> = new Set(postbackFields)
const macro = /\{([^{}]*)\}/g

/**
 * Reads a template (docs/rules.md#partner-postbacks). Returns a sentence that says what is wrong with a bad one. Whether its host may
 * be reached is another question: see `targetFault`.
 */
export function readTemplate(text: string): Template | string {
  if (!/^[!-~]+$/.test(text)) return 'It must be visible ASCII: percent-encode other characters.'
  const [, scheme, authority, rest = ''] = /^([^:/?#]*):\/\/([^/?#\\]*)([^#]*)$/.exec(text) ?? []
  if (scheme === undefined || authority === undefined)
    return 'It must be an absolute URL such as https://partner.example/postback?click={ext_click_id}, without a fragment.'
  if (/[{}]/.test(scheme + authority)) return 'A macro may stand in path and query only.'
  if (/\\/.test(rest)) return 'It must hold no backslash.'
  const unknown = [...rest.matchAll(macro)].map(([, name]) => name!).find((name) => !known.has(name))
  if (unknown !== undefined)
    return `{${unknown}} is no macro. There are ${postbackFields.map((name) => `{${name}}`).join(', ')}.`
  if (/[{}]/.test(rest.replace(macro, ''))) return 'A brace stands alone.'
  const url = URL.parse(`${scheme}://${authority}/`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'It must be a URL that begins with https://.'
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '')
  // A number, octal or hex digits, or a short form: the URL parser makes an address of them.
  if (/^\d+(\.\d+){3}$/.test(url.hostname) && url.hostname !== host)
    return 'An address must be written as four decimal numbers.'
  const [user, password] = [decode(url.username), decode(url.password)]
  if (user === null || password === null) return 'Its user or password is not well encoded.'
  url.username = ''
  url.password = ''
  const credentials = user === '' && password === '' ? null : `${user}:${password}`
  return { origin: url, credentials, path: rest.startsWith('/') ? rest : `/${rest}` }
}

const decode = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Path and query of a postback. Values are percent-encoded, so none of them begins another parameter, segment, line or host. */
export function fillTemplate({ path }: Pick<Template, 'path'>, content: PostbackContent): string {
  return path.replace(macro, (_all, name: PostbackField) => encode(content[name]))
}

/** An absent value is empty. Dots alone would be a step within the path. */
function encode(value: string | number | null): string {
  const text = `${value ?? ''}`.toWellFormed()
  if (text === '.' || text === '..') return text.replaceAll('.', '%2E')
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The body of a postback, empty for `GET`: every field, absent ones null. */
export function postbackBody({ method }: Pick<PostbackSettings, 'method'>, content: PostbackContent): string {
  if (method === 'GET') return ''
  return JSON.stringify(Object.fromEntries(postbackFields.map((name) => [name, content[name]])))
}
