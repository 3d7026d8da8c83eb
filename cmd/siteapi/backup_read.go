package main

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// readArchive reads a backup to its end and hands each file to take. An archive that is
// damaged, cut short or not one of this service is an error, maybe after some files.
func readArchive(r io.Reader, take func(name string, content io.Reader) error) (manifest, error) {
	var m manifest
	z, err := gzip.NewReader(r)
	if err != nil {
		return m, fmt.Errorf("this is no backup: %w", err)
	}
	t := tar.NewReader(z)
	sum := sha256.New()
	for n := 0; ; n++ {
		header, err := t.Next()
		if errors.Is(err, io.EOF) && n >= 2 {
			break
		}
		if err != nil {
			return m, fmt.Errorf("the backup is damaged or cut short: %w", err)
		}
		switch {
		case n == 0:
			err = readManifest(header, t, &m)
		case n == 1 && header.Name != databaseFile, !backupName(header):
			err = fmt.Errorf("the backup holds %q, which is none of this service's", header.Name)
		case n == 1:
			err = take(header.Name, io.TeeReader(t, sum))
		default:
			err = take(header.Name, t)
		}
		if err == nil {
			// What take has left counts for the digest as well.
			_, err = io.Copy(unread(n, sum), t)
		}
		if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) {
			err = fmt.Errorf("the backup is damaged or cut short: %w", err)
		}
		if err != nil {
			return m, err
		}
	}
	// The checksum of the compressed data comes after the last byte.
	if _, err := io.Copy(io.Discard, z); err != nil {
		return m, fmt.Errorf("the backup is damaged or cut short: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return m, errors.New("the backup is damaged: the database is not the one that was written")
	}
	return m, z.Close()
}

// unread is where the unread part of a file goes.
func unread(n int, sum io.Writer) io.Writer {
	if n == 1 {
		return sum
	}
	return io.Discard
}

func readManifest(header *tar.Header, r io.Reader, m *manifest) error {
	if header.Name != manifestName || header.Size > manifestMost {
		return errors.New("this is no backup of this service: it has no manifest")
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("the backup is damaged or cut short: %w", err)
	}
	if err := json.Unmarshal(text, m); err != nil || m.Service != "siteapi" {
		return errors.New("this is no backup of this service: its manifest is not ours")
	}
	if m.Format != backupFormat {
		return fmt.Errorf("the backup has format %d, this program knows %d: use version %s", m.Format, backupFormat, m.Version)
	}
	return nil
}

// backupName reports whether an entry is one that a backup may hold: a file, in one of
// the folders, that leads nowhere else.
func backupName(header *tar.Header) bool {
	if header.Typeflag != tar.TypeReg {
		return false
	}
	switch header.Name {
	case databaseFile, contentName:
		return true
	}
	folder, name, ok := strings.Cut(header.Name, "/")
	return ok && (folder == "cms" || folder == "crm") && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`) && filepath.Ext(name) == ".json"
}
