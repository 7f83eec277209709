/** JSON that can say what no JavaScript value can: a key twice, a number of 400 digits, broken text. */
export type JsonTree = { raw: string } | { items: JsonTree[] } | { members: [rawKey: string, value: JsonTree][] }

export function toTree(value: unknown): JsonTree {
  if (Array.isArray(value)) return { items: value.map(toTree) }
  if (typeof value !== 'object' || value === null) return { raw: JSON.stringify(value) }
  return { members: Object.entries(value).map(([key, member]) => [JSON.stringify(key), toTree(member)]) }
}

export function printTree(tree: JsonTree): string {
  if ('raw' in tree) return tree.raw
  if ('items' in tree) return `[${tree.items.map(printTree).join()}]`
  return `{${tree.members.map(([key, value]) => `${key}:${printTree(value)}`).join()}}`
}

/** A place in a tree that may be given another value. */
export interface Spot {
  holder: Exclude<JsonTree, { raw: string }>
  index: number
}

/** Every place below the root, and every holder. */
export function spotsOf(tree: JsonTree, found: Spot[] = []): Spot[] {
  if ('raw' in tree) return found
  const values = 'items' in tree ? tree.items : tree.members.map(([, value]) => value)
  for (const [index, value] of values.entries()) {
    found.push({ holder: tree, index })
    spotsOf(value, found)
  }
  return found
}

export const valueAt = ({ holder, index }: Spot): JsonTree =>
  'items' in holder ? holder.items[index]! : holder.members[index]![1]

export function setAt({ holder, index }: Spot, value: JsonTree): void {
  if ('items' in holder) holder.items[index] = value
  else holder.members[index]![1] = value
}

export const listOf = (holder: Spot['holder']): unknown[] => ('items' in holder ? holder.items : holder.members)
