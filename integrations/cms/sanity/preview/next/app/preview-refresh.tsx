'use client'

import {useRouter} from 'next/navigation'
import {useEffect} from 'react'

/** Loads the page's data anew after each edit. The layout renders it in draft mode only. */
export function PreviewRefresh() {
  const router = useRouter()
  useEffect(() => {
    const events = new EventSource('/api/draft-mode/events')
    events.addEventListener('next', () => router.refresh())
    return () => events.close()
  }, [router])
  return null
}
