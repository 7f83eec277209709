/** JSON that no JavaScript value can represent, such as duplicate keys, numbers of 400 digits and broken text. */
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

/** A place in a tree whose value can be replaced. */
export interface Spot {
  holder: Exclude<JsonTree, { raw: string }>
  index: number
}

/** All places below the root. */
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
