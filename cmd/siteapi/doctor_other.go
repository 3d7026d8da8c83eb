//go:build !unix

package main

import "io/fs"

// freeSpace is not known here.
func freeSpace(string) (free int64, known bool) { return 0, false }

// ownerOf is not known here.
func ownerOf(fs.FileInfo) (user int, known bool) { return 0, false }
