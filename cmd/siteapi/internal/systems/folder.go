package systems

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/atomicfile"
)

// Files in DATA_DIR that belong to no driver.
const (
	DatabaseFile = "siteapi.db"    // the SQLite database
	copyMark     = "backup.json"   // the folder was made by `siteapi backup`
	serverMark   = "postgres.json" // a service on PostgreSQL has used the folder
	spareFile    = "spare"         // room for SQLite to open its database on a full disk
)

// spareSize is the size of the spare file in bytes.
const spareSize = 4 << 20

// DriverFiles returns patterns of the files in DATA_DIR that a backup has beside the
// database, and of the mark that goes with them.
func DriverFiles() []string {
	return []string{"content.json", "cms/*.json", "crm/*.json", "crm/deals/*.json", serverMark}
}

// mark is the content of a mark in DATA_DIR.
type mark struct {
	At     time.Time `json:"at"`
	Logged bool      `json:"logged"` // by a start
}

func newMark() mark { return mark{At: time.Now().UTC().Truncate(time.Second)} }

// readMark returns a mark of DATA_DIR, with a zero time if there is none.
func readMark(s *config.Settings, name string) (m mark, path string, err error) {
	path = filepath.Join(s.DataDir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, path, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return mark{}, path, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, path, nil
}

// MarkCopy marks a folder as a backup of DATA_DIR. If that is a backup itself, it lacks the
// erasures since the first one.
func MarkCopy(s *config.Settings, folder string) error {
	m, _, err := readMark(s, copyMark)
	if err != nil {
		return err
	}
	if m.Logged = false; m.At.IsZero() {
		m = newMark()
	}
	return atomicfile.WriteJSON(filepath.Join(folder, copyMark), m)
}

// LogCopy logs, at the first start on a backup, that it lacks later erasures. If the mark
// cannot be read, every start logs that.
func (o Opener) LogCopy() {
	m, path, err := readMark(o.Settings, copyMark)
	detail, advice := CopyNotice(o.Settings)
	if detail == "" || m.Logged {
		return
	}
	o.Log.Warn().Msg(detail + ": " + advice)
	if err != nil {
		return
	}

	m.Logged = true
	if err := atomicfile.WriteJSON(path, m); err != nil {
		o.Log.Warn().Err(err).Msg("the next start will log this again")
	}
}

// CopyNotice describes a DATA_DIR that is a backup: what it lacks, and how to complete it.
// Both are empty for another folder.
func CopyNotice(s *config.Settings) (detail, advice string) {
	m, path, err := readMark(s, copyMark)
	if err != nil {
		return err.Error() + ", so what was erased since this backup may be back",
			"check its owner, or copy it from the backup again"
	}
	if m.At.IsZero() {
		return "", ""
	}
	former := "DATA_DIR=<the former folder>"
	if s.DatabaseURL != nil {
		former = "DATABASE_URL=<the former database>"
	}

	at := m.At.Format(time.RFC3339)
	return "DATA_DIR is a backup of " + at + ", so what was erased since then is back, " +
			"consents that were withdrawn count as given, and requests for deletion are missing",
		fmt.Sprintf("`%s siteapi audit list --action erased --since %s` lists these leads: erase "+
			"them again, withdraw the consents that it lists with `--action withdrawn`, answer the "+
			"requests of `--action deletion-requested`, then delete %s", former, at, path)
}

// markServer records that a service on PostgreSQL uses DATA_DIR.
func markServer(s *config.Settings) error {
	m, path, err := readMark(s, serverMark)
	if err != nil || !m.At.IsZero() {
		return err
	}
	return atomicfile.WriteJSON(path, newMark())
}

// refuseOld returns an error if the SQLite database is older than one at DATABASE_URL, which
// is not set. It lacks the erasures since then, and would deliver old leads again.
func refuseOld(s *config.Settings) error {
	m, path, err := readMark(s, serverMark)
	if s.DatabaseURL != nil || err == nil && m.At.IsZero() {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("a service has used this DATA_DIR with PostgreSQL since %s, so %s lacks what "+
		"happened since, also erasures: set DATABASE_URL. Only to go back to this older data, or to "+
		"copy it, delete %s",
		m.At.Format(time.RFC3339), DatabaseFile, path)
}

// OldDatabase returns the path of a SQLite database that a service on PostgreSQL does not use,
// or an empty path. It keeps everybody who was erased since it was copied, if it was.
func OldDatabase(s *config.Settings) string {
	if _, err := os.Lstat(DatabasePath(s)); s.DatabaseURL == nil || err != nil {
		return ""
	}
	return DatabasePath(s)
}

// giveUpSpare removes the spare file if the disk of DATA_DIR is full. Without some room SQLite
// can't even open its database to read.
func (d *Database) giveUpSpare() bool {
	s := d.opener.Settings
	if d.lock == nil || free(s) >= spareSize || os.Remove(filepath.Join(s.DataDir, spareFile)) != nil {
		return false
	}
	d.opener.Log.Warn().Msg("the disk of DATA_DIR is full: its spare file was removed, so that " +
		"leads can be read. Free some space")
	return true
}

// KeepSpare creates the spare file of SQLite if it is missing and the disk has plenty of room.
func (d *Database) KeepSpare() {
	path := filepath.Join(d.opener.Settings.DataDir, spareFile)
	if _, err := os.Lstat(path); d.lock == nil || err == nil || free(d.opener.Settings) < 16*spareSize {
		return
	}

	data := make([]byte, spareSize)
	_, _ = rand.Read(data) // zeros might take no room
	if err := atomicfile.WriteFile(path, data); err != nil {
		d.opener.Log.Warn().Err(err).Msg("cannot write the spare file of DATA_DIR")
	}
}

// free returns the number of bytes that the disk of DATA_DIR has left.
func free(s *config.Settings) uint64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(s.DataDir, &disk) != nil {
		return math.MaxUint64
	}
	return disk.Bavail * uint64(disk.Bsize)
}
