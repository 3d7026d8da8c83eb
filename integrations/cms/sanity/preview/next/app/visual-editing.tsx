'use client'

import {enableVisualEditing, type HistoryAdapterNavigate} from '@sanity/visual-editing'
import {usePathname, useRouter} from 'next/navigation'
import {useEffect, useRef} from 'react'

/**
 * Connects the page with the Studio whose Presentation tool shows it: both follow each other's navigation, and the page
 * the Studio's choice of a release. The layout renders it only in draft mode.
 */
export function VisualEditing() {
  const router = useRouter()
  const pathname = usePathname()
  const navigate = useRef<HistoryAdapterNavigate | null>(null)

  useEffect(() => navigate.current?.({type: 'push', url: pathname + location.search}), [pathname])

  useEffect(() => {
    if (window.self === window.top) return // no Studio shows the page
    return enableVisualEditing({
      refresh: async () => router.refresh(),
      onPerspectiveChange: async (perspective) => {
        await fetch('/api/draft-mode/perspective', {method: 'POST', body: String(perspective)})
        router.refresh()
      },
      history: {
        subscribe: (listener) => {
          navigate.current = listener
          listener({type: 'replace', url: location.pathname + location.search})
          return () => void (navigate.current = null)
        },
        update: ({type, url}) => (type === 'pop' ? router.back() : router[type](url)),
      },
    })
  }, [router])

  return null
}
