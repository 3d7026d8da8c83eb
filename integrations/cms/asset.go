package cms

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// assetID is the form of the ids of uploaded pictures and files. The second group is
// the size of a picture and missing for a file.
var assetID = regexp.MustCompile(`^(image|file)-([a-zA-Z0-9_]+)(-\d+x\d+)?-([a-z0-9]+)$`)

// AssetURL returns the address of an uploaded picture or file, which follows from its
// id; "" where the id is not that of an asset. Base is the address of the CDN, such as
// "https://cdn.sanity.io".
func AssetURL(base, project, dataset, id string) string {
	m := assetID.FindStringSubmatch(id)
	if m == nil || (m[1] == "image") != (m[3] != "") {
		return ""
	}
	return base + "/" + m[1] + "s/" + project + "/" + dataset + "/" + m[2] + m[3] + "." + m[4]
}

// withURLs adds a url to every object under a key "asset", at any depth, that has a
// reference but no url. The keys of such a document come out sorted.
func (dec Decoder) withURLs(raw json.RawMessage) (json.RawMessage, error) {
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber() // numbers stay as the editor's CMS wrote them
	var doc any
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}
	dec.visit(doc)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

func (dec Decoder) visit(node any) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			dec.visit(child)
		}
	case map[string]any:
		if asset, ok := n["asset"].(map[string]any); ok {
			ref, _ := asset["_ref"].(string)
			if have, _ := asset["url"].(string); have == "" && ref != "" {
				if u := dec.AssetURL(ref); u != "" {
					asset["url"] = u
				}
			}
		}
		for _, child := range n {
			dec.visit(child)
		}
	}
}
