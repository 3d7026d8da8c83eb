package graphqlhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/klauspost/compress/gzip"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
	"siteapi/schema/request"
)

// response is an encoded successful GraphQL response, which can be sent any number of
// times.
type response struct {
	header http.Header
	body   []byte
	packed func() []byte // the body in gzip; nil: the body is too short

	operation request.Operation // what the access log records of later requests
	revisions revisions         // of the content that the response was built from
}

// minPacked is the size in bytes from which a body is compressed.
const minPacked = 1 << 10

// cacheControl allows caches to store a response that they revalidate before each use.
const cacheControl = "public, max-age=0, must-revalidate"

func newResponse(m mediaType, op *operation, result *graphql.Response) *response {
	missing := anyNull(result.Data, op.settings)
	body := encode(m, result, missing)
	hash := sha256.New()
	hash.Write([]byte(m)) // the same bytes in another media type are another representation
	hash.Write(body)

	res := &response{
		body:      body,
		operation: op.summary(),
		header: http.Header{
			"Etag":          {`W/"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:15]) + `"`},
			"Cache-Control": {cacheControl},
			"Content-Type":  {string(m) + "; charset=utf-8"},
		},
	}
	res.operation.Public, res.operation.Cached = !missing, true
	if len(body) >= minPacked {
		res.packed = sync.OnceValue(func() []byte { return pack(body) })
	}
	return res
}

// pack compresses a body.
func pack(body []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed) // a bytes.Buffer returns no error
	_, _ = w.Write(body)
	_ = w.Close()
	return packed.Bytes()
}

// write sends the response, or 304 if the client's copy is current.
func (res *response) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	maps.Copy(header, res.header)
	if r.Method != http.MethodPost { // shared caches do not store responses to POST
		header.Add("Vary", "Accept")
	}

	body := res.body
	if res.packed != nil && request.Accepts(r, "gzip") {
		body = res.packed()
		header["Content-Encoding"] = []string{"gzip"}
	}
	request.WriteBody(w, r, http.StatusOK, body)
}

// encode returns the body of a response. If the settings document is missing, the body
// has `"errors":[]`, except as application/graphql-response+json, which forbids that.
func encode(m mediaType, result *graphql.Response, missing bool) []byte {
	body := bytes.NewBuffer(make([]byte, 0, len(result.Data)+len(`{"data":,"errors":[]}`)))
	body.WriteString(`{"data":`)
	body.Write(result.Data)

	switch {
	case len(result.Errors) > 0:
		errs, _ := json.Marshal(result.Errors) //nolint:errchkjson // extensions are strings and numbers
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
		// level. The search omits the first quote, a frequent byte, which saves 2 % of
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

// WriteError responds to a GraphQL request with an error from outside the endpoint, such
// as a rate limit, in the media type that the client expects.
func WriteError(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	exchange{w, r, negotiate(r.Header["Accept"])}.error(e.Code.Status(), e)
}

// httpError is the error of a request that is not a well-formed GraphQL request. Its
// status does not depend on the media type of the response.
type httpError struct {
	status  int
	problem *schema.Error
}

// Error implements the error interface.
func (e httpError) Error() string { return e.problem.Message }

func notAcceptable(message string) error {
	return httpError{
		http.StatusNotAcceptable,
		schema.NewError(schema.CodeUnsupportedMediaType, message),
	}
}

// exchange is a request with its response writer and the response types that the client
// accepts.
type exchange struct {
	w http.ResponseWriter
	r *http.Request
	accepted
}

// statusClientClosed is nginx's status of a request whose client disconnected before the
// response. Such requests are not failures of the service.
const statusClientClosed = 499

// result sends a result that is not cached. The result is nil if the client disconnected
// or the operation exceeded the time limit.
func (x exchange) result(op *operation, result *graphql.Response) error {
	switch {
	case result == nil && x.r.Context().Err() != nil: // the client disconnected
		x.w.WriteHeader(statusClientClosed)
	case result == nil:
		return schema.Unavailable("The operation took too long.", nil)
	case len(result.Data) == 0 && len(result.Errors) > 0: // nothing ran
		x.refused(result.Errors)
	default:
		x.report(result.Errors)
		x.write(http.StatusOK, encode(x.media, result, anyNull(result.Data, op.settings)))
	}
	return nil
}

// refused responds to a well-formed request that was not executed.
func (x exchange) refused(errs gqlerror.List) {
	x.errors(statusFor(x.media, schema.ErrorCode(errs[0])), errs)
}

// statusFor returns the status for a well-formed request that was not executed.
func statusFor(m mediaType, code schema.Code) int {
	switch {
	case m == typeJSON:
		return http.StatusOK
	case code == CodePersistedQueryNotFound || code == CodeNotTrusted:
		return http.StatusBadRequest
	default:
		return code.Status()
	}
}

func (x exchange) error(status int, e *schema.Error) {
	extensions := e.Extensions(request.CallerFrom(x.r.Context()).RequestID)
	x.errors(status, gqlerror.List{{Message: e.Message, Extensions: extensions}})
}

// errors responds with errors that prevented an operation from running.
func (x exchange) errors(status int, errs gqlerror.List) {
	x.report(errs)
	if status == http.StatusUnauthorized {
		x.w.Header().Set("WWW-Authenticate", "Bearer")
	}

	body, _ := json.Marshal(map[string]gqlerror.List{"errors": errs}) //nolint:errchkjson // as in encode
	x.write(status, body)
}

// report records errors for the access log and sets Retry-After if an error has it.
func (x exchange) report(errs gqlerror.List) {
	if len(errs) == 0 {
		return
	}
	var fields []schema.FieldError
	for _, err := range errs {
		if seconds, ok := err.Extensions[schema.ExtensionRetryAfter].(int); ok {
			x.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		}
		list, _ := err.Extensions[schema.ExtensionErrors].([]schema.FieldError)
		fields = append(fields, list...)
	}
	request.RecordFrom(x.r.Context()).Refuse(schema.ErrorCode(errs[0]), fields)
}

// write sends a response that must not be cached.
func (x exchange) write(status int, body []byte) {
	header := x.w.Header()
	header.Set("Content-Type", string(x.media)+"; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Add("Vary", "Accept")
	request.WriteBody(x.w, x.r, status, body)
}
