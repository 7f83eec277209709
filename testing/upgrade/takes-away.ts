/** Statements that leave what the version before uses: they make things, or say something about them. */
const adding = [
  /^CREATE TABLE (?:IF NOT EXISTS )?/,
  /^CREATE MATERIALIZED VIEW (?:IF NOT EXISTS )?/,
  /^CREATE INDEX /,
  /^COMMENT ON /,
  /^GRANT /,
]
/** Actions on a table that leave its rows, its columns and what may be inserted. */
const addingTo = [
  /^ADD COLUMN (?:IF NOT EXISTS )?\w+ (?!.*NOT NULL)/,
  /^ADD COLUMN (?:IF NOT EXISTS )?\w+ .*\bDEFAULT\b/,
  /^ADD INDEX (?:IF NOT EXISTS )?/,
  /^COMMENT COLUMN /,
  /^DROP NOT NULL$/,
  /^ALTER COLUMN \w+ DROP NOT NULL$/,
  // It changes only when parts are merged.
  /^MODIFY SETTING merge_selector_base = \d+$/,
]

/**
 * Statements of migrations that may take something from the version before: a column, a table, a value that it inserts. What the
 * migrations themselves made they may change as they like, since that version does not know it. `files`: their texts, in order.
 */
export function takesAway(files: readonly string[]): string[] {
  const statements = files.flatMap(statementsOf)
  const made = new Set(
    statements.flatMap((one) => /^CREATE [A-Z ]*?(?:IF NOT EXISTS )?([a-z]\w*)/.exec(one)?.[1] ?? []),
  )
  return statements.filter(
    (one) => !adding.some((shape) => shape.test(one)) && !isOfMade(one, made) && !onlyAddsTo(one),
  )
}

const statementsOf = (text: string): string[] =>
  text
    // Whichever begins first: a text may hold dashes, and a comment may hold an apostrophe.
    .replaceAll(/'(?:[^']|'')*'|--.*$/gm, (one) => (one.startsWith("'") ? "''" : ''))
    .replaceAll(/\{\{on_cluster\}\}/g, '')
    .split(';')
    .map((one) => one.replaceAll(/\s+/g, ' ').trim())
    .filter((one) => one !== '')

/** Whether a statement changes, or drops, or makes an index of a thing that newer migrations made. */
function isOfMade(statement: string, made: ReadonlySet<string>): boolean {
  const of =
    /^(?:ALTER|DROP) [A-Z ]*?(?:IF EXISTS )?([a-z]\w*)/.exec(statement) ??
    /^CREATE UNIQUE INDEX \w+ ON (\w+)/.exec(statement)
  return of !== null && made.has(of[1]!)
}

function onlyAddsTo(statement: string): boolean {
  const actions = /^ALTER TABLE \w+ (.*)$/.exec(statement)?.[1]
  return actions !== undefined && actionsOf(actions).every((one) => addingTo.some((shape) => shape.test(one)))
}

/** The actions of an ALTER, which commas outside of brackets separate. */
function actionsOf(text: string): string[] {
  let depth = 0
  const parts = ['']
  for (const letter of text) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0
    if (letter === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((one) => one.trim())
}
