/** HTML that may stand in a page as it is. */
export type Html = string

export const escapeHtml = (text: string): Html =>
  text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

/** The name of a heading in addresses, as GitHub makes it. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
