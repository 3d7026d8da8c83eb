package valkey

// EntryName returns how the server calls the entry under key.
func EntryName(prefix, key string) string { return names{prefix}.of(key)[0] }

// LeaseName returns how the server calls the lease of key.
func LeaseName(prefix, key string) string { return names{prefix}.of(key)[1] }
