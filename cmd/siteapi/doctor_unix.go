//go:build unix

package main

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes an ordinary user may still write below a folder.
func freeSpace(path string) (free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), true //nolint:gosec,unconvert // the types differ between systems
}

// ownerOf returns the user that a file belongs to.
func ownerOf(info fs.FileInfo) (user int, known bool) {
	s, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(s.Uid), true
}
