import { it } from 'vitest'
import { expectNoHarm } from './attack-part.ts'

it('no attack of one company delays, loses or doubles events of another company, or fills the memory (3 of 3)', () =>
  expectNoHarm('3/3'))
