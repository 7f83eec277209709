import { type Agent, readAgent } from '@tributary/domain/link/agent'
import { expect, test } from 'vitest'

const agent = (platform: Agent['platform'], os_major: number | null = null, model: string | null = null): Agent => ({
  ...{ platform, os_major, model },
})

test.each<[string, string, Agent]>([
  [
    'Chrome on every phone since 110',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    agent('android'),
  ],
  [
    'a real Android 10',
    'Mozilla/5.0 (Linux; Android 10; SM-G960F) AppleWebKit/537.36 Chrome/100.0.0.0 Mobile Safari/537.36',
    agent('android', 10, 'SM-G960F'),
  ],
  [
    'a browser inside an app',
    'Mozilla/5.0 (Linux; Android 14; Pixel 8 Pro Build/UD1A.230803.041; wv) AppleWebKit/537.36 Version/4.0 Chrome/119 Mobile Safari/537.36',
    agent('android', 14, 'Pixel 8 Pro'),
  ],
  [
    'Samsung Internet',
    'Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S911B) AppleWebKit/537.36 SamsungBrowser/23.0 Chrome/115 Mobile Safari/537.36',
    agent('android', 13, 'SM-S911B'),
  ],
  ['Firefox', 'Mozilla/5.0 (Android 13; Mobile; rv:109.0) Gecko/118.0 Firefox/118.0', agent('android', 13)],
  [
    'an old tablet',
    'Mozilla/5.0 (Linux; U; Android 4.4.2; de-de; SM-T530 Build/KOT49H) AppleWebKit/534.30 Version/4.0 Safari/534.30',
    agent('android', 4, 'SM-T530'),
  ],
  ['no version', 'Mozilla/5.0 (Linux; Android) AppleWebKit/537.36', agent('android')],
  [
    'an iPhone',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile/15E148 Safari/604.1',
    agent('ios', 17),
  ],
  [
    'an iPhone whose agent says 18 for ever',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/26.1 Mobile/15E148 Safari/604.1',
    agent('ios', 26),
  ],
  [
    'an old iPad',
    'Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 Version/12.1 Safari/604.1',
    agent('ios', 12),
  ],
  [
    'an iPad that calls itself a Macintosh',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15',
    agent('desktop'),
  ],
  [
    'a Windows Phone',
    'Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) like iPhone',
    agent('desktop'),
  ],
  [
    'a model with many spaces',
    `Linux; Android 14; A${' '.repeat(50)}B Build/X`,
    agent('android', 14, `A${' '.repeat(50)}B`),
  ],
  ['nothing', '', agent('desktop')],
  ['a hostile one', `Android ${';'.repeat(500)}`, agent('android')],
])('reads %s', (_what, text, expected) => {
  expect(readAgent(text)).toEqual(expected)
})
