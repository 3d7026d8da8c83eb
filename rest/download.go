package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"siteapi/schema"
)

// download is the root field's value of a route that sends a file. Its bytes come
// through a schema.BinarySink.
type download struct {
	FileName    string `json:"fileName"`
	ContentType string `json:"contentType"`
	ETag        string `json:"etag"`
	Locale      string `json:"locale"`
}

// serveKept sends a file that was made before, if there is one.
func (a *API) serveKept(w http.ResponseWriter, r *http.Request, rt *route) bool {
	f := a.files.find(rt, r)
	if f == nil {
		return false
	}
	f.write(w, r)
	if a.options.OnKept != nil {
		a.options.OnKept(w)
	}
	return true
}

// serveDownload runs an operation and sends the file it gives.
func (a *API) serveDownload(ctx context.Context, w http.ResponseWriter, r *http.Request, rt *route, vars map[string]any) {
	var sink schema.BinarySink
	var lasting schema.Lasting
	requestID := schema.CallerFrom(ctx).RequestID
	ctx = schema.WithLasting(schema.WithBinarySink(ctx, &sink), &lasting)
	value, problem := a.run(ctx, rt, vars, r.Header)
	if problem != nil {
		WriteProblem(w, r, requestID, problem)
		return
	}
	var d download
	if err := json.Unmarshal(value, &d); err != nil {
		WriteProblem(w, r, requestID, &schema.Error{Code: schema.CodeInternal, Err: fmt.Errorf("reading the data of %s: %w", rt.name, err)})
		return
	}
	f := newFile(d, sink.Bytes, lasting.Negotiated)
	if f.stands = lasting.Stands; f.stands != nil {
		a.files.keep(rt, r, f)
	}
	f.write(w, r)
}

// disposition offers a file for saving (RFC 6266): a name in safe ASCII for every
// client, and the name itself for those that read it.
func disposition(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		default:
			return '_'
		}
	}, name)
	safe = strings.TrimLeft(safe, ".")
	if safe == "" {
		safe = "download"
	}
	// PathEscape leaves some marks alone that RFC 8187 wants escaped.
	extended := strings.NewReplacer(":", "%3A", "=", "%3D", "@", "%40", "(", "%28", ")", "%29", "'", "%27", "*", "%2A").
		Replace(url.PathEscape(name))
	return `attachment; filename="` + safe + `"; filename*=UTF-8''` + extended
}

// matches tells whether If-None-Match names an entity tag, by weak comparison as it is
// meant for reading (RFC 9110, section 13.1.2).
func matches(h http.Header, etag string) bool {
	own := strings.TrimPrefix(etag, "W/")
	for _, line := range h["If-None-Match"] {
		for rest := strings.Trim(line, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			if rest[0] == '*' {
				return true
			}
			rest = strings.TrimPrefix(rest, "W/")
			if rest == "" || rest[0] != '"' {
				return false // not a list of entity tags
			}
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return false
			}
			if rest[:end+2] == own {
				return true
			}
			rest = rest[end+2:]
		}
	}
	return false
}
