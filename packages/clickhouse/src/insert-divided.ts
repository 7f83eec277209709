import { type FailedInserts, isPassing } from './failed-inserts.ts'

/** Rows that are inserted together. The same rows have the same token on every try. */
export interface DividedBlock<Block> {
  failed: FailedInserts
  tokenOf(block: Block): string
  /** Two blocks in the place of one; null for one that can't be divided. */
  halve(block: Block): [Block, Block] | null
  insert(block: Block, token: string): Promise<void>
}

/** A block that can't be divided any more and that the engine does not take. */
export interface RefusedBlock<Block> {
  block: Block
  err: unknown
}

/**
 * Inserts a block, of which nothing has landed, and gives back what ClickHouse can't take.
 *
 * Rows are made by us from checked records, so an unreadable one means that table and code disagree. It must not hold
 * up its partition for ever, and neither must a block that the engine refuses again and again: it is halved until only
 * single records are left over. An unreadable block never became a block, so it is halved at once; any other is halved
 * before a later try, when the batch was looked up again.
 */
export async function insertDivided<Block>(block: Block, how: DividedBlock<Block>): Promise<RefusedBlock<Block>[]> {
  const token = how.tokenOf(block)
  const repeated = how.failed.findRepeated(token, how.halve(block) === null)
  if (repeated !== null) return divide(block, repeated, how)
  try {
    await how.insert(block, token)
    return []
  } catch (err) {
    if (isUnreadable(err)) return divide(block, err, how)
    how.failed.note(token, err)
    throw err
  }
}

async function divide<Block>(block: Block, err: unknown, how: DividedBlock<Block>): Promise<RefusedBlock<Block>[]> {
  const refused: RefusedBlock<Block>[] = []
  const halves = how.halve(block)
  for (const half of halves ?? []) refused.push(...(await insertDivided(half, how)))
  if (halves !== null) return refused
  // A record alone that the engine has no memory for waits until it has.
  if (isPassing(err)) throw err
  return [{ block, err }]
}

/**
 * True only when the input format itself gave up on a row. It says so with the number of the row; when it names the
 * column too, that is all that the HTTP client leaves of the text. An error of a view may carry the same code, but then
 * the table may hold the block already: that one must be repeated as it is.
 */
function isUnreadable(err: unknown): boolean {
  if (!(err instanceof Error) || /while pushing to view/i.test(err.message)) return false
  return /\(at row \d+\)|\(while reading the value of key /.test(err.message)
}
