package file

import (
	"bytes"
	_ "embed"
)

//go:embed sample.json
var sample []byte

// Sample returns the content that is served where no file is configured: site settings
// with localised telephone numbers and a logo that needs no network, a hero section
// in each language, and words in three languages for the slugs of the calculator.
func Sample() []byte { return bytes.Clone(sample) }
