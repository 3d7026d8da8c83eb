// Package schema is the contract of the service: the SDL, one file per feature, the models
// generated from it, and the error codes, input bounds and scalars, which both
// endpoints share.
package schema

import "slices"

// AtLeast reports whether a role has all permissions of another one. Each role includes
// those of the roles before it.
func (e Role) AtLeast(other Role) bool {
	return slices.Index(AllRole, e) >= slices.Index(AllRole, other)
}
