// Package coding compresses the bodies of answers, with gzip or Brotli as the client prefers.
package coding

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"siteapi/schema"
)

// Coding is a content coding of HTTP.
type Coding string

// The codings. Identity leaves a body as it is.
const (
	Identity Coding = ""
	Gzip     Coding = "gzip"
	Brotli   Coding = "br"
)

// minSize is the size in bytes below which a body is not worth compressing.
const minSize = 1 << 10

// brotliQuality takes a body to about nine tenths of gzip's size in a few times its time.
const brotliQuality = 5

// negotiate returns the coding of the answer to a request whose body has a size. An answer
// to a token or to a session of the inbox is never compressed: its length would tell what is
// in it to an attacker who can choose a part of it.
func negotiate(r *http.Request, size int) Coding {
	accept := r.Header["Accept-Encoding"]
	if len(accept) == 0 || size < minSize || r.Header["Authorization"] != nil ||
		schema.CallerFrom(r.Context()).Operator.Role != "" {
		return Identity
	}
	return preferred(strings.Join(accept, ","))
}

// preferred returns the coding that a client prefers. Of two with the same quality, the one
// that compresses better is taken.
func preferred(accept string) Coding {
	anyOther := 0.0
	quality := map[Coding]float64{}

	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		q := qualityOf(params)

		switch name {
		case "*":
			anyOther = q
		case "identity":
			quality[Identity] = q
		case "x-gzip":
			quality[Gzip] = q
		default:
			quality[Coding(name)] = q
		}
	}

	best := Identity
	for _, c := range []Coding{Gzip, Brotli} {
		if _, named := quality[c]; !named {
			quality[c] = anyOther
		}
		if q := quality[c]; q > 0 && q >= quality[best] {
			best = c
		}
	}
	return best
}

// qualityOf reads the parameter q, which is 1 if it is left out and 0 if it is malformed.
func qualityOf(params string) float64 {
	name, value, ok := strings.Cut(params, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// encode returns a body in the coding.
func (c Coding) encode(body []byte) []byte {
	var encoded bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&encoded)
	if c == Brotli {
		w = brotli.NewWriterLevel(&encoded, brotliQuality)
	}

	_, err := w.Write(body)
	if err == nil {
		err = w.Close()
	}
	if err != nil { // a buffer takes everything
		panic(fmt.Errorf("compressing an answer: %w", err))
	}
	return encoded.Bytes()
}

// etag returns the entity tag of a body in the coding, given the tag of the plain body. Each
// coding has a strong tag of its own, since the bytes differ.
func (c Coding) etag(plain string) string {
	if c == Identity {
		return plain
	}
	return strings.TrimSuffix(plain, `"`) + "-" + string(c) + `"`
}

// Write sends an answer whose header is complete but for what depends on the coding. If the
// client's copy is current it sends 304, and to HEAD no body.
func Write(w http.ResponseWriter, r *http.Request, status int, body *Body) {
	header, c := w.Header(), Identity
	if compressible(header.Get("Content-Type")) {
		c = negotiate(r, len(body.plain))
		header.Add("Vary", "Accept-Encoding")
	}

	if etag := header.Get("ETag"); etag != "" {
		etag = c.etag(etag)
		header.Set("ETag", etag)
		if r.Method != http.MethodPost && schema.MatchesETag(r.Header, etag) {
			header.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}

	encoded := body.in(c)
	if c != Identity {
		header.Set("Content-Encoding", string(c))
	}
	header.Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(encoded) // fails only if the client has disconnected
	}
}

// compressible reports whether files of a type are not compressed already.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") ||
		kind == "image/svg+xml" || kind == "font/ttf"
}
