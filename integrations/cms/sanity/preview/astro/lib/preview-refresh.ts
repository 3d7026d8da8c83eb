/** Reloads the page after each edit. The layout loads it only in a preview. The first event of a stream is not an edit. */
let first = true
new EventSource('/api/preview/events').addEventListener('next', () => (first ? (first = false) : location.reload()))

export {}
