// Package generators has the clients that users of Go generate from the SDL and from the OpenAPI
// description. `make clients` writes them to the folder build and compiles them.
package generators

import (
	_ "github.com/Khan/genqlient/graphql"
	_ "github.com/oapi-codegen/runtime"
)

//go:generate go tool genqlient
//go:generate go tool oapi-codegen -generate types,client,skip-prune -package rest -o build/rest/rest.go ../../../rest/testdata/openapi.json
