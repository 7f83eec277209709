/** An address below `/admin` that a person gave a name. */
export interface View {
  name: string
  address: string
}

/** Reads views that were kept. What is no view is left out: storage may hold anything. */
export function parseViews(text: string): View[] {
  let all: unknown
  try {
    all = JSON.parse(text)
  } catch {
    return []
  }
  if (!Array.isArray(all)) return []
  return all
    .filter((one): one is View => typeof one?.name === 'string' && /^\/(?![/\\])/.test(one?.address))
    .map(({ name, address }) => ({ name, address }))
}
