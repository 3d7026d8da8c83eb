package cache

import (
	"crypto/sha256"
	"encoding/base64"
)

// RevisionOf returns the revision of a value: 22 characters of A-Z a-z 0-9 - _ that
// depend on its bytes alone, so every instance arrives at the same one. They hold
// 128 bits of a cryptographic digest: whoever writes content can't craft two values
// that share a revision by accident or cheaply on purpose.
func RevisionOf(value []byte) string {
	sum := sha256.Sum256(value)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
