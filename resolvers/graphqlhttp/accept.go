package graphqlhttp

import (
	"mime"
	"strconv"
	"strings"
)

// mediaType is the media type of a response.
type mediaType string

const typeEvents = "text/event-stream" // the media type of subscriptions

const (
	typeJSON    mediaType = "application/json"                  // the media type of older clients
	typeGraphQL mediaType = "application/graphql-response+json" // responses have meaningful status codes
)

// accepted describes the responses that a client accepts.
type accepted struct {
	media  mediaType // the media type of responses in JSON, and of errors
	json   bool      // the client accepts responses in JSON
	events bool      // the client accepts streams of events
}

// negotiate evaluates the Accept header. Without a preference the media type is
// application/json. Of two types with equal quality, the one named in full wins, then the
// one named first.
func negotiate(header []string) accepted {
	list := strings.Join(header, ",")
	if list == "" || list == string(typeJSON) {
		return accepted{media: typeJSON, json: true}
	}

	qualities := map[string]float64{}
	for part := range strings.SplitSeq(list, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		qualities[name] = 1
		if text, given := params["q"]; given {
			qualities[name], _ = strconv.ParseFloat(text, 64) // 0 if it is not a number
		}
	}
	quality := func(m mediaType) float64 {
		for _, name := range []string{string(m), "application/*", "*/*"} {
			if q, named := qualities[name]; named {
				return q
			}
		}
		return 0
	}

	a := accepted{media: typeJSON, json: quality(typeJSON) > 0, events: qualities[typeEvents] > 0}
	before, _, named := strings.Cut(list, string(typeGraphQL))
	preferred := named && !strings.Contains(before, string(typeJSON))
	if q := quality(typeGraphQL); q > quality(typeJSON) || q == quality(typeJSON) && preferred {
		a.media, a.json = typeGraphQL, q > 0
	}
	if !a.json && a.events {
		a.media = typeGraphQL
	}
	return a
}
