package cms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

var (
	validID = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9._-]{0,127}$`)
	// assetID matches the id of an uploaded image or file. Only the id of
	// an image has a size.
	assetID = regexp.MustCompile(`^(image|file)-([a-zA-Z0-9_]+)(-\d+x\d+)?-([a-z0-9]+)$`)
)

// Decode reads a document as the CMS holds it. Objects under a key "asset" get the url
// that assetURL returns for their reference; it may return "". An _updatedAt that is not
// an RFC 3339 time counts as not stated.
func Decode(raw json.RawMessage, assetURL func(ref string) string) (Document, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Document{}, errors.New("a document is not a JSON object")
	}

	var d Document
	var updated string

	if err := text(fields, "_id", &d.ID); err != nil {
		return Document{}, err
	}
	if !validID.MatchString(d.ID) {
		return Document{}, fmt.Errorf(
			"_id %.140q is missing or has characters other than a-z A-Z 0-9 . _ -", d.ID)
	}

	if err := errors.Join(text(fields, "_type", &d.Type), text(fields, "language", &d.Language)); err != nil {
		return Document{}, fmt.Errorf("document %q: %w", d.ID, err)
	}
	if d.Type == "" {
		return Document{}, fmt.Errorf("document %q: _type is missing", d.ID)
	}

	if text(fields, "_updatedAt", &updated) == nil {
		if at, err := time.Parse(time.RFC3339, updated); err == nil {
			d.UpdatedAt = at.UTC()
		}
	}

	var err error
	if d.Fields, err = resolveAssets(raw, assetURL); err != nil {
		return Document{}, fmt.Errorf("document %q: %w", d.ID, err)
	}
	return d, nil
}

// text reads a field that is a string, null or missing.
func text(fields map[string]json.RawMessage, name string, into *string) error {
	if raw, ok := fields[name]; ok && json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("%s is not a string", name)
	}
	return nil
}

// resolveAssets returns a document in compact form, with the addresses of its assets.
// Numbers stay as the CMS wrote them.
func resolveAssets(raw json.RawMessage, assetURL func(ref string) string) (json.RawMessage, error) {
	var out bytes.Buffer
	if !bytes.Contains(raw, []byte(`"_ref"`)) {
		err := json.Compact(&out, raw)
		return out.Bytes(), err
	}

	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	var doc any
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}

	addAssetURLs(doc, assetURL)

	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return bytes.TrimSpace(out.Bytes()), err
}

func addAssetURLs(node any, assetURL func(ref string) string) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			addAssetURLs(child, assetURL)
		}
	case map[string]any:
		if asset, ok := n["asset"].(map[string]any); ok {
			ref, _ := asset["_ref"].(string)
			if have, _ := asset["url"].(string); have == "" && ref != "" {
				if address := assetURL(ref); address != "" {
					asset["url"] = address
				}
			}
		}

		for _, child := range n {
			addAssetURLs(child, assetURL)
		}
	}
}

// AssetURL returns the address of an uploaded image or file, which follows from its id,
// or "" if the id does not belong to an asset. Base is the CDN, such as
// "https://cdn.sanity.io".
func AssetURL(base, project, dataset, id string) string {
	m := assetID.FindStringSubmatch(id)
	if m == nil || (m[1] == "image") != (m[3] != "") {
		return ""
	}
	return base + "/" + m[1] + "s/" + project + "/" + dataset + "/" + m[2] + m[3] + "." + m[4]
}
