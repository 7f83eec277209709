import { it } from 'vitest'
import { expectNoHarm } from './attack-part.ts'

it('no attack of one company delays, loses or doubles events of another company, or fills the memory (1 of 3)', () =>
  expectNoHarm('1/3'))
