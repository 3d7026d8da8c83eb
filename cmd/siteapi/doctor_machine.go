package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/store"
)

// Free space in DATA_DIR, in bytes.
const (
	spaceEnough = 1 << 30
	spaceLeast  = 64 << 20
)

// checkFolder asks whether DATA_DIR can be written, by the right user, with room left.
func (d *doctor) checkFolder(context.Context) []diagnosis {
	path := d.settings.DataDir
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []diagnosis{warning("DATA_DIR="+path+" is not there", "right before the first start, which makes it; else set DATA_DIR to the folder of the service")}
	case err != nil:
		return []diagnosis{failure("DATA_DIR: "+err.Error(), "see who may enter the folder")}
	case !info.IsDir():
		return []diagnosis{failure("DATA_DIR="+path+" is a file", "name a folder")}
	}
	var found []diagnosis
	if owner, known := ownerOf(info); known && owner != d.user {
		found = append(found, failure(fmt.Sprintf("DATA_DIR belongs to user %d, and this is another one: what is created now the service could not open", owner),
			fmt.Sprintf("run the commands as that user: sudo -u '#%d' siteapi doctor", owner)))
	}
	if info.Mode().Perm()&0o007 != 0 {
		found = append(found, warning(fmt.Sprintf("DATA_DIR has mode %v: every user of this machine can look inside", info.Mode().Perm()), "chmod o-rwx "+path))
	}
	free, known := d.free(path)
	room := "room unknown"
	if known {
		room = megabytes(free) + " free"
	}
	switch {
	case known && free < spaceLeast:
		found = append(found, failure("DATA_DIR has "+room+": submissions will be refused soon", "make room"))
	case known && free < spaceEnough:
		found = append(found, warning("DATA_DIR has "+room, "make room"))
	}
	if len(found) > 0 && found[0].State == stateFail {
		return found
	}
	began := time.Now()
	if err := writeProbe(path); err != nil {
		return append(found, failure("DATA_DIR can't be written: "+err.Error(), "see who may write there, and whether it is mounted read-only"))
	}
	left, _ := filepath.Glob(filepath.Join(path, asideMark+"*"))
	if len(left) > 0 {
		found = append(found, warning(fmt.Sprintf("%d folders %s… hold what restores have replaced, personal data too", len(left), asideMark), "remove them once you are sure"))
	}
	return append(found, fine("%s, %s, written and synced in %v", path, room, time.Since(began).Round(100*time.Microsecond)))
}

// writeProbe writes a file, has it brought to the disk, and removes it.
func writeProbe(folder string) error {
	f, err := os.CreateTemp(folder, ".doctor-")
	if err != nil {
		return err
	}
	_, err = f.WriteString("written by a check\n")
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// Differences between clocks.
const (
	clockOff   = 30 * time.Second
	clockWrong = 5 * time.Minute // signatures of webhooks older than that are refused
)

// checkClock compares this machine's clock with those of others, and with what is
// stored.
func (d *doctor) checkClock(ctx context.Context) []diagnosis {
	worst, where, asked := time.Duration(0), "", []string{}
	note := func(name string, off time.Duration) {
		asked = append(asked, name)
		if off.Abs() > worst.Abs() {
			worst, where = off, name
		}
	}
	for name, address := range d.remoteClocks() {
		if at, ok := d.remoteTime(ctx, address); ok {
			note(name, d.now().Sub(at))
		}
	}
	if off, ok := d.databaseClock(ctx); ok {
		note("PostgreSQL", off)
	}
	if at, ok := d.newestLead(ctx); ok && at.After(d.now()) {
		note("the newest submission", d.now().Sub(at))
	}
	slices.Sort(asked)
	detail := fmt.Sprintf("this machine's clock is %v %s by %s", worst.Abs().Round(time.Second), map[bool]string{true: "fast", false: "slow"}[worst > 0], where)
	advice := "have the clock set by NTP (timedatectl set-ntp true), on the other machine too if it is that one which is wrong"
	switch {
	case worst.Abs() > clockWrong:
		return []diagnosis{failure(detail+": webhooks signed by the CMS are refused, and retention counts wrong", advice)}
	case worst.Abs() > clockOff:
		return []diagnosis{warning(detail, advice)}
	case len(asked) == 0:
		return []diagnosis{fine("%s; there is no other clock to compare it with", d.now().UTC().Format(time.RFC3339))}
	}
	return []diagnosis{fine("%s, as by %s", d.now().UTC().Format(time.RFC3339), strings.Join(asked, ", "))}
}

// remoteClocks are the systems that say what time it is in every answer.
func (d *doctor) remoteClocks() map[string]string {
	clocks := map[string]string{}
	if s := d.settings; s.CMSDriver == "sanity" {
		clocks["the CMS"] = s.SanityAPIURL
		if s.SanityAPIURL == "" {
			clocks["the CMS"] = "https://" + s.SanityProjectID + ".api.sanity.io"
		}
	}
	if d.settings.CRMDriver == "hubspot" {
		clocks["the CRM"] = d.settings.HubSpotAPIURL
	}
	return clocks
}

func (d *doctor) remoteTime(ctx context.Context, address string) (time.Time, bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return time.Time{}, false
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return time.Time{}, false // that it is away is told elsewhere
	}
	_ = resp.Body.Close()
	at, err := http.ParseTime(resp.Header.Get("Date"))
	return at, err == nil
}

// newestLead returns when the newest stored submission was made.
func (d *doctor) newestLead(ctx context.Context) (at time.Time, ok bool) {
	if !d.mayOpen() {
		return at, false
	}
	db, err := openExisting(ctx, d.settings, d.log)
	if err != nil {
		return at, false
	}
	for s, err := range db.archive.Submissions(ctx, store.Filter{Newest: true}) {
		at, ok = s.SubmittedAt, err == nil
		break
	}
	return at, db.close() == nil && ok
}

// checkService asks the running service how it is.
func (d *doctor) checkService(ctx context.Context) []diagnosis {
	if _, port, err := net.SplitHostPort(strings.TrimPrefix(d.server, "http://")); err == nil && port == "0" {
		return []diagnosis{fine("LISTEN_ADDR has no port of its own: name the service with --server to have it asked")}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server+"/readyz", nil)
	if err != nil {
		return []diagnosis{failure(err.Error(), "name the service with --server")}
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return d.silentService(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var answer struct {
		Status       string
		Dependencies map[string]struct{ Status string }
	}
	if err := errors.Join(err, resp.Body.Close()); err != nil || json.Unmarshal(body, &answer) != nil || answer.Status == "" {
		return []diagnosis{failure("what answers at "+d.server+" is not this service", "see who listens there, or name the service with --server")}
	}
	var down []string
	for name, dependency := range answer.Dependencies {
		if dependency.Status != "ok" {
			down = append(down, name)
		}
	}
	slices.Sort(down)
	switch {
	case resp.StatusCode != http.StatusOK:
		return []diagnosis{failure(fmt.Sprintf("the service at %s is %s: %s", d.server, answer.Status, strings.Join(down, ", ")), "mend what it depends on; its log has the reasons")}
	case len(down) > 0:
		return []diagnosis{warning(fmt.Sprintf("the service at %s goes on without: %s", d.server, strings.Join(down, ", ")), "mend what it depends on; its log has the reasons")}
	}
	return []diagnosis{fine("%s is ready", d.server)}
}

// silentService tells a service that does not run from one that can't be reached.
func (d *doctor) silentService(err error) []diagnosis {
	if d.settings.DatabaseURL == nil {
		if alive, lookErr := anyoneAlive(d.settings); lookErr == nil && !alive {
			return []diagnosis{fine("none runs on this data folder")}
		} else if alive {
			return []diagnosis{warning("a service runs on this data folder and does not answer at "+d.server, "run this with its LISTEN_ADDR, or name it with --server")}
		}
	}
	if _, dialled := errors.AsType[*net.OpError](err); dialled {
		return []diagnosis{fine("none listens at %s", d.server)}
	}
	return []diagnosis{failure("the service at "+d.server+" takes the connection and does not answer", "look at its log and at the load of the machine")}
}
