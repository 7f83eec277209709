import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../browser.ts'
import { signInAsOwner } from './sign-in.ts'

const help = `node tools/bootstrap.mjs packages/panel/test/pictures/take-pictures.ts [DATA_FOLDER]

Takes the pictures of README.md and docs/panel.md anew, from a demo that runs (npm run demo). The data folder is ./.tributary-demo.`

const [data_dir = '.tributary-demo'] = process.argv.slice(2)
const folder = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'pictures')
/** A picture is part of each clone. */
const picture_bytes_max = 150_000

/** What is shown, by the name of its picture: a page with its address, the colours, and what comes last. */
const pictures = [
  ['overview', 'overview?app=APP&range=30d', 'light', '.tile:last-child .sparkline svg'],
  ['overview-dark', 'overview?app=APP&range=30d', 'dark', '.tile:last-child .sparkline svg'],
  ['performance', 'performance?app=APP&range=30d&chart=revenue_usd', 'light', '.totals'],
  ['cohorts', 'cohorts?app=APP&range=30d', 'light', '.heat tfoot'],
  ['lifetime-value', 'ltv?app=APP&range=90d', 'light', '[role=grid]'],
  ['skan', 'skan?app=IOS&range=30d', 'dark', '[role=grid]'],
] as const

if (data_dir.startsWith('-')) console.info(help)
else await takeAll()

async function takeAll() {
  const read = (name: string) => readFileSync(join(data_dir, name), 'utf8')
  const env = new Map([...read('demo.env').matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  const url = env.get('TRIBUTARY_URL') ?? ''
  const browser = await openBrowser()
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 840 }, deviceScaleFactor: 0.75 })
    const [admin_token, company_id] = [read('admin-token').trim(), env.get('COMPANY_ID') ?? '']
    const remove = await signInAsOwner(context, { url, admin_token, company_id })
    const page = await context.newPage()
    mkdirSync(folder, { recursive: true })
    for (const [name, address, colorScheme, ready] of pictures) {
      await page.emulateMedia({ colorScheme })
      const words = address.replace('APP', env.get('APP_ID') ?? '').replace('IOS', env.get('IOS_APP_ID') ?? '')
      await page.goto(`${url}/admin/${words}`)
      await page.locator(ready).last().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      const path = join(folder, `${name}.png`)
      await page.screenshot({ path })
      const { size } = statSync(path)
      console.info(`${path} ${size} bytes`)
      if (size > picture_bytes_max) throw new Error(`${name} has more than ${picture_bytes_max} bytes`)
    }
    await remove()
  } finally {
    await browser.close()
  }
}
