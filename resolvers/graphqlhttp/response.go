package graphqlhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/klauspost/compress/gzip"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// response is a successful answer, ready to be sent any number of times.
type response struct {
	header http.Header
	body   []byte
	packed func() []byte // the body in gzip; nil: it is too short for that
}

// minPacked is the size in bytes from which a body is compressed.
const minPacked = 1 << 10

func newResponse(m mediaType, cacheControl string, body []byte) response {
	hash := sha256.New()
	hash.Write([]byte(m)) // the same bytes in another media type are another representation
	hash.Write(body)

	res := response{
		body: body,
		header: http.Header{
			"Etag":          {`W/"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:15]) + `"`},
			"Cache-Control": {cacheControl},
			"Content-Type":  {string(m) + "; charset=utf-8"},
		},
	}
	if len(body) >= minPacked {
		res.packed = sync.OnceValue(func() []byte { return pack(body) })
	}
	return res
}

// pack compresses a body.
func pack(body []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil { // a buffer takes everything
		panic(fmt.Errorf("compressing an answer: %w", err))
	}
	return packed.Bytes()
}

// write sends the response, or 304 if the client's copy is current.
func (res *response) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	maps.Copy(header, res.header)
	if r.Method != http.MethodPost { // shared caches do not store answers to POST
		header.Add("Vary", "Accept")
	}

	body := res.body
	if res.packed != nil && schema.AcceptsGzip(r) {
		body = res.packed()
		header["Content-Encoding"] = []string{"gzip"}
	}
	schema.WriteBody(w, r, http.StatusOK, body)
}

// writeUncached sends an answer that must not be cached.
func writeUncached(w http.ResponseWriter, r *http.Request, m mediaType, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", string(m)+"; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Add("Vary", "Accept")
	schema.WriteBody(w, r, status, body)
}

// encode returns the body of an answer. If the settings document is missing, the body has
// `"errors":[]`, except as application/graphql-response+json, which forbids that.
func encode(m mediaType, result *graphql.Response, missing bool) []byte {
	body := bytes.NewBuffer(make([]byte, 0, len(result.Data)+len(`{"data":,"errors":[]}`)))
	body.WriteString(`{"data":`)
	body.Write(result.Data)

	switch {
	case len(result.Errors) > 0:
		errs, err := json.Marshal(result.Errors)
		if err != nil {
			panic(fmt.Errorf("encoding the errors of an answer: %w", err))
		}
		body.WriteString(`,"errors":`)
		body.Write(errs)
	case m == typeJSON && missing:
		body.WriteString(`,"errors":[]`)
	}

	body.WriteByte('}')
	return body.Bytes()
}

// anyNull reports whether any of these members of an object is null.
func anyNull(data []byte, names []string) bool {
	for _, name := range names {
		// Usually the bytes do not occur at all. If they do, they may be on a deeper
		// level. The search leaves out the first quote, which is frequent: this is 2 % of
		// read-miss-vs-gqlgen.
		if !bytes.Contains(data, []byte(name+`":null`)) {
			continue
		}

		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) == nil && string(members[name]) == "null" {
			return true
		}
	}
	return false
}

// WriteError answers a GraphQL request with an error of the server around the endpoint,
// such as a rate limit, in the media type that the client expects.
func WriteError(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	m, _ := negotiate(r.Header["Accept"])
	writeError(w, r, m, e.Code.Status(), e)
}

func writeError(w http.ResponseWriter, r *http.Request, m mediaType, status int, e *schema.Error) {
	caller := schema.CallerFrom(r.Context())
	writeErrors(w, r, m, status, gqlerror.List{{
		Message:    e.Message,
		Extensions: e.Extensions(caller.RequestID),
	}})
}

// writeErrors answers with errors that kept an operation from running, and records them
// for the access log.
func writeErrors(w http.ResponseWriter, r *http.Request, m mediaType, status int, errs gqlerror.List) {
	report(w, r, errs)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}

	body, err := json.Marshal(map[string]gqlerror.List{"errors": errs})
	if err != nil {
		panic(fmt.Errorf("encoding errors: %w", err))
	}
	writeUncached(w, r, m, status, body)
}

// report records errors for the access log, and sets Retry-After if one has it.
func report(w http.ResponseWriter, r *http.Request, errs gqlerror.List) {
	var fields []schema.FieldError
	for _, err := range errs {
		if seconds, ok := err.Extensions[schema.ExtensionRetryAfter].(int); ok {
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
		}
		list, _ := err.Extensions[schema.ExtensionErrors].([]schema.FieldError)
		fields = append(fields, list...)
	}

	schema.RecorderFrom(r.Context()).Refused(schema.ErrorCode(errs[0]), fields)
}
