import {
  type AttentionCode,
  type AttentionItem,
  type AttentionList,
  attentionDocs,
} from '@tributary/contracts/admin/attention'

type Fact = Pick<AttentionItem, 'message' | 'fix'> & Partial<Pick<AttentionItem, 'company_id' | 'app_id' | 'since_ms'>>

/** One look: what it found of these codes. */
export interface Look {
  codes: readonly AttentionCode[]
  find(): Promise<AttentionItem[]>
}

export const item = (code: AttentionCode, { company_id = null, app_id = null, since_ms = null, ...words }: Fact) => ({
  ...{ code, company_id, app_id, since_ms: since_ms === null ? null : Math.round(since_ms) },
  ...{ ...words, docs: attentionDocs[code] },
})

/** Everything that the looks find; one that fails takes nothing from the others. */
export async function lookAt(looks: readonly Look[], onError: (err: unknown) => void): Promise<AttentionList> {
  const found = await Promise.all(
    looks.map(({ codes, find }) =>
      find().then(
        (items) => ({ items, unchecked: [] }),
        (err: unknown) => {
          onError(err)
          return { items: [], unchecked: codes }
        },
      ),
    ),
  )
  return merged(found)
}

/** One list of several. */
export const merged = (found: readonly { items: AttentionItem[]; unchecked: readonly AttentionCode[] }[]) => ({
  items: found.flatMap(({ items }) => items),
  unchecked: [...new Set(found.flatMap(({ unchecked }) => unchecked))],
})
