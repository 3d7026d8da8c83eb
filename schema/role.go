package schema

import "slices"

// includedRoles is the table of roles: each with all others whose permissions it includes.
// A role that is not listed may do nothing.
func includedRoles() map[Role][]Role {
	return map[Role][]Role{
		RoleViewer: {},
		RoleSales:  {RoleViewer},
		RoleAdmin:  {RoleViewer, RoleSales},
	}
}

// Included returns the roles whose permissions a role has, with itself.
func (e Role) Included() []Role {
	if others, listed := includedRoles()[e]; listed {
		return append(others, e)
	}
	return []Role{}
}

// Includes reports whether a role has all permissions of another one.
func (e Role) Includes(other Role) bool { return slices.Contains(e.Included(), other) }

// HighestRole returns the role that includes the others, or an empty one without roles. If
// two do not include each other, the one that the schema lists last counts.
func HighestRole(held ...Role) (highest Role) {
	for _, role := range AllRole {
		if slices.Contains(held, role) && role.Includes(role) && !highest.Includes(role) {
			highest = role
		}
	}
	return highest
}
