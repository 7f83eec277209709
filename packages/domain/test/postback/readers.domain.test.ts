import { judgePostback } from '@tributary/domain/postback/judge'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { randomPostbacks } from '@tributary/testing/postback/random-postbacks'
import { readReceived } from '@tributary/testing/postback/received'
import fc from 'fast-check'
import { expect, it } from 'vitest'

const apple = createAppleTwin()

it('judges random postbacks, resends and forgeries as an independent reader does', () => {
  fc.assert(
    fc.property(randomPostbacks(apple), (postbacks) => {
      for (const postback of postbacks) {
        const judged = judgePostback(postback, apple.keys)
        const type = judged.re_engagement ? 're-engagement' : judged.redownload === true ? 'redownload' : 'install'
        expect({
          ...{ verdict: judged.verdict, environment: judged.environment ?? undefined, version: judged.version },
          ...{ network: judged.network, id: judged.postback_id, index: judged.sequence_index, type },
          ...{ advertised: judged.advertised_item_id, publisher: judged.publisher_item_id, source: judged.source },
          ...{ lost: judged.did_win === false, fine: judged.fine ?? undefined, coarse: judged.coarse ?? undefined },
        }).toEqual(readReceived(postback, apple.keys))
      }
    }),
    { numRuns: 200 },
  )
})
