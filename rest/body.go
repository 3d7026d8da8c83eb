package rest

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// bodySource is a variable that takes the whole JSON body.
type bodySource struct {
	variable   string
	definition *ast.VariableDefinition
	accepts    []string // media types, the first is the usual one
	limit      int64    // bytes
	shape      *shape
	decoders   decoders
}

// firstRead is what is set aside for a body before any of it has arrived, so that
// announcing a large one costs the service nothing.
const firstRead = 16 << 10

// bindBody adds the variable that takes the body. A signature over it is verified
// before it is decoded.
func (a *API) bindBody(
	ctx context.Context, w http.ResponseWriter, r *http.Request, rt *route, vars map[string]any,
) *schema.Error {
	b := rt.body
	if b == nil {
		return nil
	}
	raw, problem := b.read(w, r)
	if problem != nil {
		return problem
	}
	schema.CallerFrom(ctx).Body = raw
	if problem := a.authorize(ctx, rt); problem != nil {
		return problem
	}
	if problem := b.checkHeaders(w, r.Header, len(raw)); problem != nil {
		return problem
	}
	value, err := b.decoders.decode(raw, b.shape)
	if err != nil {
		return badRequest(sentence(err))
	}
	vars[b.variable] = value
	return nil
}

// read returns the whole body, or a problem where it is too large or breaks off.
func (b *bodySource) read(w http.ResponseWriter, r *http.Request) ([]byte, *schema.Error) {
	if r.ContentLength > b.limit {
		return nil, b.tooLarge()
	}
	size, src := r.ContentLength, io.Reader(r.Body)
	if size < 0 {
		size, src = 512, http.MaxBytesReader(w, r.Body, b.limit)
	}
	buf := make([]byte, 0, min(size+1, firstRead)) // one more, to meet the end without growing
	for {
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, b.unreadable(err)
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// unreadable says why a body could not be read to its end.
func (b *bodySource) unreadable(err error) *schema.Error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return b.tooLarge()
	}
	if refused := (*schema.Error)(nil); errors.As(err, &refused) {
		return refused // by the server's limits
	}
	return badRequest("The body broke off before its end.")
}

// tooLarge names the limit, so that a client can keep to it.
func (b *bodySource) tooLarge() *schema.Error {
	return &schema.Error{
		Code:    schema.CodePayloadTooLarge,
		Message: "The body may have at most " + strconv.FormatInt(b.limit, 10) + " bytes.",
	}
}

// checkHeaders refuses bodies in a form the route does not read. A body without a
// Content-Type is taken for what the route accepts.
func (b *bodySource) checkHeaders(w http.ResponseWriter, h http.Header, size int) *schema.Error {
	if coding := first(h, "Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity")
		return &schema.Error{Code: schema.CodeUnsupportedMediaType, Message: "The body has to be sent without a Content-Encoding."}
	}
	switch given := first(h, "Content-Type"); given {
	case "application/json":
		if b.takesMedia(given) {
			break
		}
		return b.unsupported(w)
	case "":
	default:
		media, params, err := mime.ParseMediaType(given)
		if err != nil || !b.takesMedia(media) {
			return b.unsupported(w)
		}
		if charset := params["charset"]; charset != "" && !isUTF8(charset) {
			return &schema.Error{Code: schema.CodeUnsupportedMediaType, Message: "The body has to be in UTF-8."}
		}
	}
	if size == 0 {
		return badRequest("The body is empty: send a JSON value.")
	}
	return nil
}

// unsupported lists the media types to use instead, in words and as RFC 9110 has it.
func (b *bodySource) unsupported(w http.ResponseWriter) *schema.Error {
	w.Header().Set("Accept", strings.Join(b.accepts, ", "))
	return &schema.Error{
		Code:    schema.CodeUnsupportedMediaType,
		Message: "The body has to be JSON, sent with the Content-Type " + strings.Join(b.accepts, " or ") + ".",
	}
}

// sentence turns an error's text into one for people.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// isUTF8 tells whether a character set is UTF-8 or a part of it.
func isUTF8(charset string) bool {
	return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8") || strings.EqualFold(charset, "us-ascii")
}
