package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithUs has a process killed when we die, so that nothing is left behind.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// ownMounts starts a process in a mount namespace of its own, as root of a user
// namespace where we are not root ourselves.
func ownMounts(cmd *exec.Cmd) {
	dieWithUs(cmd)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// privateMounts keeps what this process mounts from being seen outside.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts private: %w", err)
	}
	return nil
}

// mountDisk puts a disk of that many megabytes, held in memory, at a folder.
func mountDisk(dir string, megabytes int) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := unix.Mount("chaos", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0750", megabytes)); err != nil {
		return fmt.Errorf("mounting a small disk: %w", err)
	}
	return nil
}

// remountDisk makes such a disk read-only or writable, which works while nobody has a
// file of it open for writing.
func remountDisk(dir string, readOnly bool) error {
	flags := uintptr(unix.MS_REMOUNT)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		return fmt.Errorf("mounting the disk again: %w", err)
	}
	return nil
}

// immutable is the attribute of that name, FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// freeze sets or clears the attribute "immutable" of everything below a folder. Unlike
// permissions it binds root as well, and unlike a mount it binds files that are open.
func freeze(dir string, frozen bool) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() && !e.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return fmt.Errorf("reading the attributes of a file: %w", err)
		}
		if flags &^= immutable; frozen {
			flags |= immutable
		}
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			return fmt.Errorf("setting the attributes of a file: %w", err)
		}
		return nil
	})
}

// freezable tells whether files below a folder can be frozen while they are open.
func freezable(dir string) (err error) {
	probe := filepath.Join(dir, "probe")
	if err := os.Mkdir(probe, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, freeze(probe, false), os.RemoveAll(probe)) }()
	f, err := os.Create(filepath.Join(probe, "file"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := freeze(probe, true); err != nil {
		return err
	}
	if _, err := f.WriteString("x"); err == nil {
		return errors.New("this file system lets open files be written whatever their attributes")
	}
	return nil
}
