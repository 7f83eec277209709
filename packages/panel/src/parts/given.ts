/** What a form gives: texts without the space around them; undefined where nothing was typed. */
export function givenOf(form: HTMLFormElement): (name: string) => string | undefined {
  const given = new FormData(form)
  return (name) => String(given.get(name) ?? '').trim() || undefined
}

/** Words of a list, separated by commas or spaces. */
export const listOf = (text: string | undefined): string[] => text?.split(/[\s,]+/).filter((word) => word !== '') ?? []
