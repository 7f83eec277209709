import { createHash } from 'node:crypto'

const name_bytes_max = 255

/** Everything else is escaped; `=` because it is the escape, a leading dot so that `..` and hidden names can't occur. */
const unsafe = /[^A-Za-z0-9._~%+@,-]|^\./gu

/**
 * The path of a key inside the store's folder: one name per segment, injective, and inside the folder whatever the key,
 * parts of which are chosen by clients. Unsafe bytes become `=XX`, an empty segment `=_`, and a name that no file system
 * takes `=h` with its SHA-256. Throws on a key that has no UTF-8 form.
 */
export function objectPath(key: string): string {
  if (!key.isWellFormed()) throw new RangeError('audit key is not well-formed Unicode')
  return key.split('/').map(nameOf).join('/')
}

function nameOf(segment: string): string {
  if (segment === '') return '=_'
  const name = segment.replace(unsafe, escaped)
  // What is left is ASCII: characters are bytes.
  return name.length <= name_bytes_max ? name : `=h${createHash('sha256').update(segment).digest('hex')}`
}

const escaped = (character: string) =>
  [...Buffer.from(character)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

/** The path of a folder of keys, which is empty or ends with a slash. */
export const folderPath = (folder: string): string => (folder === '' ? '' : `${objectPath(folder.slice(0, -1))}/`)

/** The path of what is left of an erased object: the hash of its name in the same folder. */
export function erasedPath(key: string): string {
  const at = key.lastIndexOf('/') + 1
  return `${folderPath(key.slice(0, at))}=e${createHash('sha256').update(key.slice(at)).digest('hex')}`
}

const erased = /^=e[0-9a-f]{64}$/

/** Whether a name is one of `erasedPath`. */
export const isErasedName = (name: string): boolean => erased.test(name)

const hashed = /^=h[0-9a-f]{64}$/

/** The segment that a name of `objectPath` stands for; null for a hash. */
export function segmentOf(name: string): string | null {
  if (hashed.test(name)) return null
  if (name === '=_') return ''
  return name.replace(/(?:=[0-9A-F]{2})+/g, (escapes) => Buffer.from(escapes.replaceAll('=', ''), 'hex').toString())
}
