package graphqlhttp

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// mediaType is a media type of an answer.
type mediaType string

const (
	typeJSON    mediaType = "application/json"                  // what clients have always been sent
	typeGraphQL mediaType = "application/graphql-response+json" // its status codes mean something
)

// negotiate returns the media type that a client prefers, or false where it takes neither. Without a preference
// it is application/json; of two liked equally, the one named in full wins, then the one named first.
func negotiate(accept []string) (mediaType, bool) {
	list := strings.Join(accept, ",")
	if list == "" {
		return typeJSON, true
	}
	var json, gql preference
	for i, part := range strings.Split(list, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || q > 1 {
				q = 0
			}
		}
		switch name {
		case string(typeJSON):
			json.take(q, 3, i)
		case string(typeGraphQL):
			gql.take(q, 3, i)
		case "application/*", "*/*":
			specificity := 1 + strings.Count(name, "application")
			json.take(q, specificity, i)
			gql.take(q, specificity, i)
		}
	}
	if gql.betterThan(json) {
		return typeGraphQL, gql.q > 0
	}
	return typeJSON, json.q > 0
}

// preference is how much a client likes one media type.
type preference struct {
	q           float64
	specificity int // 1: */*, 2: application/*, 3: the type itself
	order       int
}

// take notes a media range. The most specific one counts.
func (p *preference) take(q float64, specificity, order int) {
	if specificity > p.specificity {
		*p = preference{q, specificity, order}
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

// isJSON reports whether a body is plain JSON in UTF-8. What a page of another site can send without asking
// (forms, text, no type at all) is not.
func isJSON(header http.Header) bool {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	types := header["Content-Type"]
	if len(types) != 1 {
		return false
	}
	name, params, err := mime.ParseMediaType(types[0])
	charset := strings.ToLower(params["charset"])
	return err == nil && name == string(typeJSON) && (charset == "" || charset == "utf-8" || charset == "utf8")
}
