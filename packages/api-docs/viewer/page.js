/**
 * Shows openapi.json with Swagger UI. That knows no `x-codeSamples`, so they are put below the description they belong
 * to; and sections of the guide are folded, so that the operations are not far below them.
 */
const answer = await fetch('/docs/openapi.json')
const spec = await answer.json()

const foldable = (title, text) => `<details><summary><b>${title}</b></summary>\n\n${text}\n\n</details>`

const [opening, ...sections] = spec.info.description.split(/^## /m)
const folded = sections.map((section) => {
  const [title, ...lines] = section.split('\n')
  return foldable(title, lines.join('\n').trim())
})
spec.info.description = [opening.trim(), ...folded].join('\n\n')

for (const operation of Object.values(spec.paths).flatMap((path) => Object.values(path))) {
  const programs = (operation['x-codeSamples'] ?? []).map(({ lang, label, source }) =>
    foldable(label, `\`\`\`${lang}\n${source}\`\`\``),
  )
  if (programs.length > 0) operation.description += `\n\nPrograms that sign:\n\n${programs.join('\n\n')}`
}

globalThis.SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
})
