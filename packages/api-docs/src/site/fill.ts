import { codeBlock } from './code.ts'
import { escapeHtml, type Html } from './html.ts'

/** An app with the keys by which its requests name it. None of them is a secret. */
export interface AppKeys {
  app_id: string
  name: string
  platform: string
  company_name: string
  app_key: string
  company_key: string
}

/** A page of `/docs` with the keys of one app in its samples, and with links that stay with it. */
export function fill(
  page: Html,
  apps: readonly AppKeys[],
  { path, app_id }: { path: string; app_id?: string | undefined },
): Html {
  const chosen = apps.find((app) => app.app_id === app_id) ?? apps[0]
  const frame = '<div class="frame">'
  if (chosen === undefined) return page.replace(frame, `<div class="filled">${noApp}</div>${frame}`)
  const query = `?app=${encodeURIComponent(chosen.app_id)}`
  return page
    .replaceAll(
      /href="\/docs(?!\/files\/)((?:\/[a-z/_-]*)?)(#[^"]*)?"/g,
      (_all, to, hash = '') => `href="/admin/docs${to}${query}${hash}"`,
    )
    .replaceAll('$COMPANY_KEY', () => escapeHtml(chosen.company_key))
    .replaceAll('$APP_KEY', () => escapeHtml(chosen.app_key))
    .replace('<html lang="en">', () => `<html lang="en" data-query="${escapeHtml(query)}">`)
    .replace(frame, () => `${bar(chosen, apps, path)}${frame}`)
}

const noApp = 'No app is here yet: <code>npx tributary app create</code> makes one, and its keys are filled in here.'

function bar(chosen: AppKeys, apps: readonly AppKeys[], path: string): Html {
  const others = apps.map(
    ({ app_id, ...app }) =>
      `<li><a href="/admin/docs${path === '' ? '' : `/${path}`}?app=${encodeURIComponent(app_id)}">${nameOf(app)}</a></li>`,
  )
  const settings = codeBlock(
    `export COMPANY_KEY=${chosen.company_key}\nexport APP_KEY=${chosen.app_key}`,
    'bash',
    'For the programs',
  )
  return `<div class="filled"><details><summary>Filled in: ${nameOf(chosen)}</summary>${settings}<ul>${others.join('')}</ul></details></div>`
}

const nameOf = ({ company_name, name, platform }: Omit<AppKeys, 'app_id'>): Html =>
  escapeHtml(`${company_name}: ${name} (${platform})`)
