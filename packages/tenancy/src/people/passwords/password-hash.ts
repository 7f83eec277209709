import { randomBytes, timingSafeEqual } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { fairWork } from '../../fair-work.ts'
import { type HashOrder, openHashThreads } from './hash-threads.ts'

/** OWASP's first choice of 2025 for argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19 * 1024, passes: 2, parallelism: 1 }
const salt_bytes = 16
const hash_bytes = 32

interface Cost {
  memory: number
  passes: number
  parallelism: number
}

/** Hashes and checks passwords in threads of their own, a few at once, shared fairly among the addresses that ask. */
export interface Passwords {
  hash(password: string, holder: string): Promise<string>
  /** Takes as long without a stored hash as with one. */
  check(password: string, stored: string | null, holder: string): Promise<boolean>
}

export function openPasswords(): Passwords {
  const derive = openHashThreads()
  const inTurn = fairWork({ at_once_max: limits.password_hashes_max, waiting_max: limits.password_hashes_waiting_max })
  /** Checked where there is no account: nobody knows its password. */
  const nobody = encode(cost, randomBytes(salt_bytes), randomBytes(hash_bytes))
  return {
    async hash(password, holder) {
      const salt = randomBytes(salt_bytes)
      return encode(cost, salt, await inTurn(holder, () => derive(orderOf(password, salt, cost))))
    },
    async check(password, stored, holder) {
      const { salt, hash, ...asked } = decode(stored ?? nobody)
      const found = await inTurn(holder, () => derive(orderOf(password, salt, asked)))
      return timingSafeEqual(found, hash) && stored !== null
    },
  }
}

/** One spelling of each character, as keyboards differ. */
const orderOf = (password: string, nonce: Buffer, { memory, passes, parallelism }: Cost): HashOrder => ({
  ...{ message: Buffer.from(password.normalize('NFKC')), nonce, parallelism, tagLength: hash_bytes, memory, passes },
})

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

/** The PHC string format. */
const encode = ({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`

function decode(stored: string): Cost & { salt: Buffer; hash: Buffer } {
  const found = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored)
  if (found === null) throw new Error('The stored hash of a password has an unknown form.')
  const [, memory, passes, parallelism, salt = '', hash = ''] = found
  return {
    ...{ memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    ...{ salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') },
  }
}
