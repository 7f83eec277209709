import { CodedError } from '@tributary/contracts/errors'

/** Loaded with the first new password: the list takes 6 MB of memory. */
let loaded: Promise<ReadonlySet<string>> | undefined

/**
 * Throws `invalid_field` for a common password: one of a list of 49 000 (`@zxcvbn-ts/language-common`), one of them with
 * digits or signs around it or several times over, the address of the account, and a few characters again and again.
 */
export async function refuseCommonPassword(password: string, email: string, field: string): Promise<void> {
  loaded ??= load()
  if (isCommon(password.normalize('NFKC').toLowerCase(), email.toLowerCase(), await loaded))
    throw new CodedError('invalid_field', {
      field,
      message: 'It is too common. Take several words, or a manager of passwords.',
    })
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}

function isCommon(text: string, email: string, list: ReadonlySet<string>): boolean {
  const bare = text.replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
  const unit = /^(.+?)\1+$/u.exec(text)?.[1]
  const [name = ''] = email.split('@', 1)
  return (
    new Set(text).size < 5 ||
    [text, bare, unit].some((part) => part !== undefined && (list.has(part) || part === email || part === name))
  )
}
