'use client'

import {useRouter} from 'next/navigation'
import {useEffect} from 'react'

/** Reloads the page's data after each edit. The layout renders it only in draft mode. */
export function PreviewRefresh() {
  const router = useRouter()
  useEffect(() => {
    const events = new EventSource('/api/draft-mode/events')
    events.addEventListener('next', () => router.refresh())
    return () => events.close()
  }, [router])
  return null
}
