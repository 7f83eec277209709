import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { beforeAll, it } from 'vitest'
import { lookAt, type PagePath, sendHostile } from './each-page.ts'
import { openPanel } from './open-panel.ts'

const pagesOf = (demo: Record<string, string>) =>
  ({
    'the set-up': [
      [`links?open=${demo.LINK_ID}`, '.qr'],
      ['links?open=new', 'form'],
      ['costs', '.snippet'],
      ['cv-schema', 'form'],
      [`apps?open=${demo.APP_ID}`, '.plain-table'],
      ['new-app', 'form'],
    ],
    people: [
      [`companies?open=${demo.COMPANY_ID}`, '.card form'],
      ['privacy', 'form'],
      ['people?open=new', '[role=grid]'],
      ['audit-log', '[role=grid]'],
      ['health', '[role=grid]'],
      ['account', '[role=grid]'],
    ],
  }) satisfies Record<string, PagePath[]>

await describeWith('Chromium', openPanel, (panel) => {
  beforeAll(() => sendHostile(panel))

  it.each(['the set-up', 'people'] as const)(
    'shows %s without a barrier, narrow and wide, dark and light, with hostile texts, and breaks no rule of its policy',
    (group) => lookAt(panel, `${group.replaceAll(' ', '-')}@example.com`, pagesOf(panel.demo)[group]),
  )
})
