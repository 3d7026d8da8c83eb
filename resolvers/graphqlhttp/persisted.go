package graphqlhttp

import "siteapi/schema"

// resolve sets the document of a request that has only an id: a trusted document, or one
// that a client has registered (APQ). The returned hash, which is usually empty, must be
// registered once the document has passed all checks.
func (d *Documents) resolve(req *params) (hash string, _ *schema.Error) {
	switch id := req.documentID; {
	case id == "", req.Query != "" && (d.TrustedOnly || d.byID[id] == req.Query):
		return "", nil
	case req.Query != "" && hashText(req.Query) != id:
		return "", badInput("The hash is not the SHA-256 of the query.")
	case req.Query != "":
		return id, nil
	}

	text, ok := d.byID[req.documentID]
	if !ok && !d.TrustedOnly {
		text, ok = d.registered.GetIfPresent(req.documentID)
	}

	switch {
	case ok:
		req.Query = text
		return "", nil
	case d.TrustedOnly:
		return "", errNotTrusted
	default:
		return "", errNotFound
	}
}
