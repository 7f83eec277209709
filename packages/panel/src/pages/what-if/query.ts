import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ApiError, unreachable } from '../../api/api-error.ts'
import { callLines, type Input, type Output } from '../../api/call.ts'
import type { Window } from '../../api/range.ts'

type Line = Output<'whatIf'>
type Progress = Extract<Line, { kind: 'progress' }>
export type WhatIf = Extract<Line, { kind: 'what_if' }>
export type Move = WhatIf['moves'][number]
export type OfPartner = WhatIf['partners'][number]
export type Settings = Omit<Input<'whatIf'>['query'], keyof Window>

/** Decides the installs of a window again. Leaving the page ends it. */
export function useWhatIf(app_id: string, window: Window) {
  const running = useRef<AbortController>(null)
  const [progress, setProgress] = useState<Progress | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = useMutation({
    mutationFn: async (settings: Settings): Promise<WhatIf | null> => {
      running.current = new AbortController()
      const { signal } = running.current
      setProgress(null)
      let last: Line | undefined
      const onLine = (line: Line) => {
        last = line
        if (line.kind === 'progress') setProgress(line)
      }
      try {
        await callLines('whatIf', { params: { app_id }, query: { ...window, ...settings } }, onLine, signal)
      } catch (error) {
        if (signal.aborted) return null
        throw error
      }
      // An answer without its last line was broken off.
      if (last?.kind !== 'what_if') throw new ApiError(unreachable)
      return last
    },
  })
  return { run, progress, cancel: () => running.current?.abort() }
}
