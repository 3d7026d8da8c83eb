package schema

import "math/rand/v2"

// NewRequestID returns 26 characters of 128 random bits. Ids of requests have to differ,
// which takes no secret: the generator of math/rand/v2 is seeded by the system and needs
// no system call.
func NewRequestID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	for half := range 2 {
		bits := rand.Uint64()
		for i := range 13 {
			id[13*half+i] = letters[bits%32]
			bits /= 32
		}
	}
	return string(id[:])
}
