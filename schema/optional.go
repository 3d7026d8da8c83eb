package schema

// ValueOr returns an optional value, or another one if it is null.
func ValueOr[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// Optional returns a text that is not empty, or null.
func Optional[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
