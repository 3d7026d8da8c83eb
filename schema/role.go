package schema

import "slices"

// Included returns the roles whose permissions a role has, with itself. A role that is not
// listed here may do nothing.
func (e Role) Included() []Role {
	return map[Role][]Role{
		RoleViewer: {RoleViewer},
		RoleSales:  {RoleViewer, RoleSales},
		RoleAdmin:  {RoleViewer, RoleSales, RoleAdmin},
	}[e]
}

// Includes reports whether a role has all permissions of another one.
func (e Role) Includes(other Role) bool { return slices.Contains(e.Included(), other) }

// SeesPersonal reports whether a role gets the values of fields with @personal. Its reads of
// them are audited.
func (e Role) SeesPersonal() bool { return e.Includes(RoleSales) }

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
