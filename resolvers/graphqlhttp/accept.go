package graphqlhttp

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// mediaType is a media type of an answer.
type mediaType string

const typeEvents = "text/event-stream" // the answers to subscriptions

const (
	typeJSON    mediaType = "application/json"                  // the media type of older clients
	typeGraphQL mediaType = "application/graphql-response+json" // answers have meaningful status codes
)

// negotiate returns the media type that a client prefers, or false if it accepts neither.
// Without a preference it is application/json. Of two with equal quality, the one named
// in full wins, then the one named first.
func negotiate(accept []string) (mediaType, bool) {
	list := strings.Join(accept, ",")
	if list == "" || list == string(typeJSON) {
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
			q, _ = strconv.ParseFloat(text, 64) // 0 if it is not a number
		}

		switch name {
		case string(typeJSON):
			json.take(preference{q, 3, -float64(i)})
		case string(typeGraphQL):
			gql.take(preference{q, 3, -float64(i)})
		case "application/*":
			json.take(preference{q, 2})
			gql.take(preference{q, 2})
		case "*/*":
			json.take(preference{q, 1})
			gql.take(preference{q, 1})
		}
	}

	if slices.Compare(gql[:], json[:]) > 0 {
		return typeGraphQL, gql[0] > 0
	}
	return typeJSON, json[0] > 0
}

// takesEvents reports whether a client names the media type of streams of events.
func takesEvents(accept []string) bool {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		if name, params, err := mime.ParseMediaType(part); err == nil && name == typeEvents {
			return params["q"] != "0"
		}
	}
	return false
}

// preference ranks a media type by quality, then by how specific the range is, then by
// the order in the header.
type preference [3]float64

// take applies a media range of the header. The most specific one counts.
func (p *preference) take(other preference) {
	if other[1] > p[1] {
		*p = other
	}
}
