import { replayPart } from './replay-part.ts'

replayPart(0)
