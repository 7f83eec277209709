/** Backgrounds from light to strong green, by their number in the 256 colours of xterm. Black is readable on each. */
const backgrounds = [194, 157, 120, 83, 77, 71, 34] as const
const black = '\u001B[38;5;16m'
const reset = '\u001B[0m'

/** Paints a cell by its share of `share_max`. Small shares differ most: retention falls fast at first. */
export const paintHeat =
  (share_max: number) =>
  (text: string, share: number): string => {
    if (!(share > 0)) return text
    const step = Math.round(Math.sqrt(share / share_max) * (backgrounds.length - 1))
    return `\u001B[48;5;${backgrounds[step]}m${black}${text}${reset}`
  }

/** Whether a terminal is there that shows 256 colours, and nobody refused them (https://no-color.org). */
export const hasColours = (stream: NodeJS.WriteStream = process.stdout): boolean =>
  stream.isTTY === true && stream.hasColors(256)
