'use client'

import {useRouter} from 'next/navigation'
import {useEffect, useRef} from 'react'

/**
 * Renders the page's data again once its content is not the one with this revision. The layout renders it only in draft
 * mode. A page of published content has no revision: it follows later changes only.
 */
export function PreviewRefresh({revision}: {revision: string}) {
  const router = useRouter()
  const shown = useRef(revision)
  useEffect(() => void (shown.current = revision), [revision])

  useEffect(() => {
    const events = new EventSource('/api/draft-mode/events')
    events.addEventListener('next', ({data}: MessageEvent<string>) => {
      const {revision: current} = JSON.parse(data).data.contentChanged
      shown.current ||= current
      if (current !== shown.current) router.refresh()
    })
    return () => events.close()
  }, [router])
  return null
}
