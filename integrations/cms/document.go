package cms

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
)

// assetCDN serves images and files of Sanity. The content at an address never changes.
const assetCDN = "https://cdn.sanity.io"

var (
	validID = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9._-]{0,127}$`)
	// assetID matches the id of an uploaded image or file. Only an image's id includes a
	// size.
	assetID = regexp.MustCompile(`^(image|file)-([a-zA-Z0-9_]+)(-\d+x\d+)?-([a-z0-9]+)$`)
	// exportedFile matches the address of a file in an export of a dataset.
	exportedFile = regexp.MustCompile(
		`^file://\./(?:images|files)/([a-zA-Z0-9_]+(?:-\d+x\d+)?)\.([a-z0-9]+)$`)
	// imageSize matches the size in the id or the address of an image.
	imageSize = regexp.MustCompile(`-([1-9]\d{0,4})x([1-9]\d{0,4})[-.]\w+$`)
)

// Decode parses a document as the CMS stores it. An object under a key "asset" that has
// no URL receives the one that assetURL returns for its reference; assetURL may return
// "". An asset of another dataset receives none. The object around an asset receives the
// URL as well and, if it is an image, its width and height. An _updatedAt that is not an
// RFC 3339 time is ignored.
func Decode(raw json.RawMessage, assetURL func(ref string) string) (Document, error) {
	var fields map[string]any
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber() // preserve the notation of numbers
	if err := in.Decode(&fields); err != nil || fields == nil {
		return Document{}, errors.New("a document is not a JSON object")
	}

	var d Document
	for name, into := range map[string]*string{"_id": &d.ID, "_type": &d.Type} {
		text, ok := fields[name].(string)
		if !ok && fields[name] != nil {
			return Document{}, fmt.Errorf("document %.140v: %s is not a string", fields["_id"], name)
		}
		*into = text
	}
	switch {
	case !validID.MatchString(d.ID):
		return Document{}, fmt.Errorf(
			"_id %.140q is missing or has characters other than a-z A-Z 0-9 . _ -", d.ID)
	case d.Type == "":
		return Document{}, fmt.Errorf("document %q: _type is missing", d.ID)
	}

	d.Language = Language(fields)
	if IsSingleton(d.ID) {
		d.Language, d.Useless = "", d.Language
	}
	updated, _ := fields["_updatedAt"].(string)
	if at, err := time.Parse(time.RFC3339, updated); err == nil {
		d.UpdatedAt = at.UTC()
	}

	maps.DeleteFunc(fields, func(name string, _ any) bool { return strings.HasPrefix(name, "_") })
	addAssetURLs(fields, assetURL)
	var err error
	d.Fields, err = json.Marshal(fields)
	return d, err
}

func addAssetURLs(node any, assetURL func(ref string) string) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			addAssetURLs(child, assetURL)
		}
	case map[string]any:
		restoreAsset(n)
		if asset, ok := n["asset"].(map[string]any); ok {
			addAssetURL(n, asset, assetURL)
		}
		for _, child := range n {
			addAssetURLs(child, assetURL)
		}
	}
}

// restoreAsset restores the asset of an object as the CMS had it. An export of a dataset
// names a file instead.
func restoreAsset(holder map[string]any) {
	source, _ := holder["_sanityAsset"].(string)
	kind, address, ok := strings.Cut(source, "@")
	if !ok || holder["asset"] != nil {
		return
	}

	if file := exportedFile.FindStringSubmatch(address); file != nil {
		ref := strings.Join([]string{kind, file[1], file[2]}, "-")
		holder["asset"] = map[string]any{"_type": "reference", "_ref": ref}
	} else if strings.HasPrefix(address, "https://") {
		holder["asset"] = map[string]any{"url": address}
	}
}

// addAssetURL adds the address of an asset to the asset and to the object that has it,
// and the size of an image to the latter.
func addAssetURL(holder, asset map[string]any, assetURL func(ref string) string) {
	ref, _ := asset["_ref"].(string)
	address, _ := asset["url"].(string)
	if address == "" && ref != "" && asset["_dataset"] == nil {
		address = assetURL(ref)
	}
	if address == "" {
		return
	}
	asset["url"] = address
	if holder["url"] == nil {
		holder["url"] = address
	}

	metadata, _ := asset["metadata"].(map[string]any)
	size, _ := metadata["dimensions"].(map[string]any)
	inName := imageSize.FindStringSubmatch(cmp.Or(ref, address))
	for i, name := range []string{"width", "height"} {
		number, ok := cmp.Or(size[name], asset[name]).(json.Number)
		if !ok && inName != nil {
			number, ok = json.Number(inName[i+1]), true
		}
		if ok && holder[name] == nil {
			holder[name] = number
		}
	}
}

// AssetURL derives the address of an uploaded image or file of Sanity from its id. It
// returns "" if the id is not that of an asset.
func AssetURL(project, dataset, id string) string {
	m := assetID.FindStringSubmatch(id)
	if m == nil || (m[1] == "image") != (m[3] != "") {
		return ""
	}
	return assetCDN + "/" + m[1] + "s/" + project + "/" + dataset + "/" + m[2] + m[3] + "." + m[4]
}
