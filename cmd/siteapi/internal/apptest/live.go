package apptest

// LiveEnv enables the inbox and sets the operators' token on the public address.
func LiveEnv(more ...string) []string {
	return append([]string{"ADMIN_PAGE=on", "ADMIN_API_TOKEN=operators"}, more...)
}

const OperatorAuth = "Authorization: Bearer operators"
