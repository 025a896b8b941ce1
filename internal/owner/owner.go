// Package owner gives what root writes in the directory of another user to that user: a service
// that runs as the user could not open files of root.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Owner is the user that owns the files of a directory. Where root works on the directory of
// another user, its child processes run as that user, who also owns new files.
type Owner struct {
	dir  string
	uid  int
	gid  int
	root bool // this process is root, and the owner is another user
}

// Of returns the owner of a directory; of one that does not exist yet, this user. It
// returns an error with what to do if this user may not work on the directory.
func Of(dir string) (Owner, error) {
	o := Owner{dir: dir, uid: os.Geteuid(), gid: os.Getegid()}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, fmt.Errorf("owner: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == o.uid {
		return o, nil
	}
	us := o.uid
	o.uid, o.gid, o.root = int(stat.Uid), int(stat.Gid), us == 0
	if !o.root {
		return o, o.Refuse()
	}
	return o, nil
}

// MkdirAll makes a directory and those above it that are missing, as os.MkdirAll does, and lets
// them inherit their owner.
func MkdirAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MkdirAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if err != nil {
		return os.MkdirAll(dir, mode) // no error where it exists
	}
	// No link: the owner of the directory above may have put one in the place of the new one.
	made, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(Inherit(made), made.Close())
}

// Inherit gives an open file or directory that this process has created to the owner of the
// directory that it is in. Only root gives files away; it keeps those that it may not give, as on
// some network file systems.
func Inherit(file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	o, err := Of(filepath.Dir(file.Name()))
	if err != nil {
		return err
	}
	err = o.GiveFile(file)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// Refuse returns the error for a user who cannot act as the owner.
func (o Owner) Refuse() error {
	name := "#" + strconv.Itoa(o.uid)
	if u, err := user.LookupId(strconv.Itoa(o.uid)); err == nil {
		name = u.Username
	}
	return fmt.Errorf("owner: %s belongs to %s; run the command as that user: sudo -u '%s' retwis …", o.dir, name, name)
}

// UID is the number of the user.
func (o Owner) UID() int { return o.uid }

// Another reports whether the owner is not the user of this process.
func (o Owner) Another() bool { return o.root }

// Credential makes a child process run as the owner.
func (o Owner) Credential() *syscall.Credential {
	if !o.root {
		return nil
	}
	return &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
}

// Give gives a file or directory that this process has created to the owner.
func (o Owner) Give(path string) error {
	if !o.root {
		return nil
	}
	if err := os.Lchown(path, o.uid, o.gid); err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	return nil
}

// GiveFile gives an open file to the owner.
func (o Owner) GiveFile(file *os.File) error {
	if !o.root {
		return nil
	}
	if err := file.Chown(o.uid, o.gid); err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	return nil
}
