package gqlhttp

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// media is a media type the door answers with.
type media uint8

const (
	mediaJSON    media = iota // application/json, what clients have always been sent
	mediaGraphQL              // application/graphql-response+json, whose status codes mean something
)

const (
	typeJSON    = "application/json"
	typeGraphQL = "application/graphql-response+json"
)

// negotiate returns the media type a client likes best, false where it likes none of
// the two. Without a preference it is application/json. Of two types liked equally the
// one named in full wins over a wildcard, then the one named first.
func negotiate(accept []string) (media, bool) {
	switch len(accept) {
	case 0:
		return mediaJSON, true
	case 1:
		// What the common clients send, without looking closer.
		switch accept[0] {
		case "", "*/*", typeJSON:
			return mediaJSON, true
		case typeGraphQL,
			"application/graphql-response+json,application/json;q=0.9",                                                          // Apollo Client
			"application/graphql-response+json, application/json",                                                               // graphql-request
			"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed": // urql
			return mediaGraphQL, true
		}
	}
	var json, gql preference
	order := 0
	for _, line := range accept {
		for _, part := range strings.Split(line, ",") {
			order++
			name, params, _ := strings.Cut(part, ";")
			q := quality(params)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case typeJSON:
				json.take(q, 2, order)
			case typeGraphQL:
				gql.take(q, 2, order)
			case "application/*":
				json.take(q, 1, order)
				gql.take(q, 1, order)
			case "*/*":
				json.take(q, 0, order)
				gql.take(q, 0, order)
			}
		}
	}
	switch {
	case json.q <= 0 && gql.q <= 0:
		return mediaJSON, false
	case gql.betterThan(json):
		return mediaGraphQL, true
	default:
		return mediaJSON, true
	}
}

// preference is how much a client likes one media type.
type preference struct {
	q           float64
	specificity int // 0: */*, 1: application/*, 2: the type itself
	order       int // of its first mention; 0: not mentioned
}

// take notes a mention. The most specific one counts.
func (p *preference) take(q float64, specificity, order int) {
	if p.order == 0 || specificity > p.specificity {
		*p = preference{q: q, specificity: specificity, order: order}
	}
}

func (p preference) betterThan(other preference) bool {
	if p.q != other.q {
		return p.q > other.q
	}
	if p.specificity != other.specificity {
		return p.specificity > other.specificity
	}
	return p.order < other.order
}

// quality reads the q parameter; 1 where there is none, 0 where it is not a number.
func quality(params string) float64 {
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || q < 0 || q > 1 {
			return 0
		}
		return q
	}
	return 1
}

// isJSON reports whether a request's body is JSON in UTF-8, as it is. Everything a page
// of another site can send without asking first (forms, text, no type at all) is not.
func isJSON(header http.Header) bool {
	if encodings := header["Content-Encoding"]; len(encodings) > 0 {
		if len(encodings) > 1 || encodings[0] != "" && !strings.EqualFold(encodings[0], "identity") {
			return false
		}
	}
	types := header["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == typeJSON {
		return true
	}
	name, params, err := mime.ParseMediaType(types[0])
	if err != nil || name != typeJSON {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
