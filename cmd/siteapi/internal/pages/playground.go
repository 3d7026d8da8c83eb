package pages

// PlaygroundPath is where GraphiQL is served.
const PlaygroundPath = "/playground"

// Playground describes GraphiQL's page. Its values are graphql-path, where operations are
// sent; introspection, on or off; and cache-token and webhook-token for the headers of the
// operations that need them. Every visitor sees the tokens.
func Playground() Options {
	return Options{
		Path:  PlaygroundPath,
		Files: Files("playground"),
		// GraphiQL's editor adds <style> elements, which it gives the page's nonce, and
		// places each line by a style attribute, which no nonce can cover; style attributes
		// run nothing.
		Policy: "worker-src 'self'; style-src-attr 'unsafe-inline'",
	}
}
