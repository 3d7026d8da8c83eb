package pages

// PlaygroundPath is the path of GraphiQL.
const PlaygroundPath = "/playground"

// Playground configures the page of GraphiQL. Its values are graphql-path, the endpoint;
// introspection, on or off; and cache-token and webhook-token, which the example
// operations use and every visitor can see.
func Playground() Options {
	return Options{
		Path:  PlaygroundPath,
		Files: Files("playground"),
		// GraphiQL's editor adds <style> elements with the nonce of the page, and
		// positions lines with style attributes, to which nonces do not apply. Style
		// attributes cannot run scripts.
		Policy: "worker-src 'self'; style-src-attr 'unsafe-inline'",
	}
}
