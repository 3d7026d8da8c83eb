import {enableVisualEditing} from '@sanity/visual-editing'

/**
 * Connects the page with the Studio whose Presentation tool shows it: both follow each other's navigation, and the page
 * the Studio's choice of a release. The layout loads it only in a preview.
 */
if (window.self !== window.top) {
  enableVisualEditing({
    refresh: async () => location.reload(),
    onPerspectiveChange: async (perspective) => {
      const response = await fetch('/api/preview/perspective', {method: 'POST', body: String(perspective)})
      if ((await response.text()) === 'changed') location.reload()
    },
    history: {
      subscribe: (listener) => {
        listener({type: 'replace', url: location.pathname + location.search})
        return () => {}
      },
      update: ({type, url}) => (type === 'pop' ? history.back() : location.assign(url)),
    },
  })
}
