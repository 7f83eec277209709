import { describe, expect, it } from 'vitest'
import { chunksSuite } from './chunks-suite.ts'
import { groupsSuite } from './groups-suite.ts'
import { type BrokerUnderTest, openLogUnderTest } from './log-under-test.ts'
import { offsetsSuite } from './offsets-suite.ts'
import { publishingSuite } from './publishing-suite.ts'

/**
 * The promises of every event log (broker.ts). They hold for Kafka too: offsets may have gaps, time is real, and a
 * partition may take seconds to change hands.
 */
export function brokerSuite(name: string, start: () => Promise<BrokerUnderTest>): void {
  describe(`${name} keeps the promises of an event log`, { timeout: 180_000 }, () => {
    const log = openLogUnderTest(start)

    publishingSuite(log)
    chunksSuite(log)
    groupsSuite(log)
    offsetsSuite(log)

    it('is healthy while it is open, and takes nothing afterwards', async () => {
      await log.broker.checkHealth()
      await log.broker.close()
      await expect(log.broker.checkHealth()).rejects.toThrow()
      await expect(log.publishTexts(['lost'])).rejects.toThrow()
    })
  })
}
