package schema

// ValueOr returns an optional value, or a fallback if it is null.
func ValueOr[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// Optional returns a pointer to a value, or nil if it is the zero value, such as an empty
// string.
func Optional[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
