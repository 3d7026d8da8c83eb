package schema

// ValueOr returns an optional value, or a fallback if it is null.
func ValueOr[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// Optional returns a pointer to a text, or nil if the text is empty.
func Optional[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}
