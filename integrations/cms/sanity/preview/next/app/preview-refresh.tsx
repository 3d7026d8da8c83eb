'use client'

import {useRouter} from 'next/navigation'
import {useEffect, useState} from 'react'

/**
 * Renders the page's data again while its revision is not the one of the latest event. The layout renders it only in
 * draft mode. A page of published content has no revision, and follows each event.
 */
export function PreviewRefresh({revision}: {revision: string}) {
  const router = useRouter()
  const [latest, setLatest] = useState(revision)

  useEffect(() => {
    const events = new EventSource('/api/draft-mode/events')
    events.addEventListener('next', ({data}: MessageEvent<string>) => {
      setLatest(JSON.parse(data).data.contentChanged.revision)
    })
    return () => events.close()
  }, [])

  useEffect(() => {
    if (latest !== revision) router.refresh()
  }, [latest, revision, router])

  return null
}
