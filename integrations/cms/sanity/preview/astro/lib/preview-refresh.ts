/**
 * Reloads the page once its content is not the one that it was rendered with. The layout loads it only in a preview, and
 * writes that content's revision into a meta tag. A page of published content has none: it follows later changes only.
 */
let shown = document.querySelector<HTMLMetaElement>('meta[name="content-revision"]')?.content

new EventSource('/api/preview/events').addEventListener('next', ({data}: MessageEvent<string>) => {
  const {revision} = JSON.parse(data).data.contentChanged
  shown ||= revision
  if (revision !== shown) location.reload()
})

export {}
