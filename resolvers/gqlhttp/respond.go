package gqlhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

// settingsField is the root field whose missing document the contract answers with an
// empty list of errors.
const settingsField = "SiteSettings"

// send sends the answer of an operation that ran.
func (h *Handler) send(
	w http.ResponseWriter, r *http.Request, m media, c *call, result *graphql.Response, revisions []revision,
) {
	if len(result.Data) == 0 && len(result.Errors) > 0 {
		h.fail(w, r, m, result.Errors) // nothing ran after all
		return
	}
	b := h.buffer()
	defer h.release(b)
	var err error
	if b.data, err = appendAnswer(b.data, m, result, c.plan.settings); err != nil {
		panic(fmt.Errorf("encoding the errors of an answer: %w", err))
	}
	event := Event{Outcome: Executed, Operation: c.plan.label, Status: http.StatusOK}
	if len(result.Errors) > 0 || !c.plan.hint.cacheable {
		if len(result.Errors) > 0 {
			event.Code = schema.ErrorCode(result.Errors[0])
			summarizeErrors(r, result.Errors)
		}
		writeUncached(w, m, http.StatusOK, b.data)
		h.tell(w, r, event)
		return
	}
	p := newPage(m, b.data, c.plan.hint.header())
	if c.plan.public() && len(c.raw) <= maxKeptRequest && h.answers.wants(c.hash) {
		h.answers.keep(c, p, kindOf(c.get, m), revisions)
	}
	event.Status = p.write(w, r)
	h.tell(w, r, event)
}

// appendAnswer appends an answer as it is sent. Errors follow the data.
func appendAnswer(dst []byte, m media, answer *graphql.Response, settings []string) ([]byte, error) {
	dst = append(dst, `{"data":`...)
	if len(answer.Data) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, answer.Data...)
	}
	switch {
	case len(answer.Errors) > 0:
		errs, err := json.Marshal(answer.Errors)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, `,"errors":`...), errs...)
	case m == mediaJSON && len(settings) > 0 && anyNull(answer.Data, settings):
		dst = append(dst, `,"errors":[]`...)
	}
	if len(answer.Extensions) > 0 {
		extensions, err := json.Marshal(answer.Extensions)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, `,"extensions":`...), extensions...)
	}
	return append(dst, '}'), nil
}

// anyNull reports whether one of these members of an object is null. The object is
// gqlgen's own, without white space. Nearly always the bytes don't occur at all, which
// is quickly seen; where they do they may stand deeper down, or in a text.
func anyNull(data []byte, names []string) bool {
	if !slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(data, []byte(`"`+name+`":null`)) }) {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch ch := data[i]; {
		case inString:
			switch ch {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			depth--
		case ch == '"':
			inString = true
			if depth != 1 {
				continue
			}
			for _, name := range names {
				if isNullMember(data[i+1:], name) {
					return true
				}
			}
		}
	}
	return false
}

// isNullMember reports whether data begins with the rest of `"name":null`. Names of
// GraphQL need no escaping.
func isNullMember(data []byte, name string) bool {
	rest, ok := bytes.CutPrefix(data, []byte(name))
	return ok && bytes.HasPrefix(rest, []byte(`":null`))
}

// fail answers with errors that kept an operation from running.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, m media, errs gqlerror.List) {
	status := http.StatusOK
	if m != mediaJSON {
		status = statusOf(firstCode(errs))
	}
	h.failWith(w, r, m, status, errs)
}

func firstCode(errs gqlerror.List) schema.Code {
	if len(errs) == 0 {
		return schema.CodeInternal
	}
	return schema.ErrorCode(errs[0])
}

// summarizeErrors tells the access log the code and the names of invalid fields.
func summarizeErrors(r *http.Request, errs gqlerror.List) {
	var fields []schema.FieldError
	for _, err := range errs {
		list, _ := err.Extensions[schema.ExtensionErrors].([]schema.FieldError)
		fields = append(fields, list...)
	}
	schema.CallerFrom(r.Context()).Summary.Refuse(firstCode(errs), fields)
}

func (h *Handler) failWith(w http.ResponseWriter, r *http.Request, m media, status int, errs gqlerror.List) {
	summarizeErrors(r, errs)
	data, err := json.Marshal(errs)
	if err != nil {
		panic(fmt.Errorf("encoding errors: %w", err))
	}
	b := h.buffer()
	defer h.release(b)
	b.data = append(append(append(b.data, `{"errors":`...), data...), '}')
	writeUncached(w, m, status, b.data)
	h.tell(w, r, Event{Outcome: Refused, Code: firstCode(errs), Status: status})
}

// statusOf returns the status of a code in a request that was not executed. Codes of
// this door, and of gqlgen, are the client's fault.
func statusOf(code schema.Code) int {
	for _, known := range schema.Codes() {
		if code == known {
			return code.Status()
		}
	}
	return http.StatusBadRequest
}

// withRequestID puts the id of the request into errors of this door.
func (h *Handler) withRequestID(w http.ResponseWriter, r *http.Request, errs gqlerror.List) gqlerror.List {
	id := h.callerOf(w, r).RequestID
	for _, err := range errs {
		err.Extensions[schema.ExtensionRequestID] = id
	}
	return errs
}

// recover turns a panic outside of resolvers into an answer. The executor presents and
// logs it like one of a resolver.
func (h *Handler) recover(w http.ResponseWriter, r *http.Request, m media) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	ctx := graphql.StartOperationTrace(schema.WithCaller(r.Context(), h.callerOf(w, r)))
	ctx = graphql.WithOperationContext(ctx, &graphql.OperationContext{})
	err := &gqlerror.Error{Err: fmt.Errorf("panic: %v", value), Message: "internal error"}
	h.failWith(w, r, m, http.StatusInternalServerError, h.exec.DispatchError(ctx, gqlerror.List{err}).Errors)
}
