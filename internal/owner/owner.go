// Package owner gives files that root creates in another user's directory to that user, because a
// service that runs as the user could not open files of root.
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

// Owner is the owner of a directory. If root works on another user's directory, child processes run
// as that user, and new files are given to that user.
type Owner struct {
	dir  string
	uid  int
	gid  int
	root bool // this process is root, and the owner is another user
}

// Of returns the owner of a directory, or this user if the directory does not exist yet. If this
// user may not work on the directory, the error says what to do.
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
	euid := o.uid
	o.uid, o.gid, o.root = int(stat.Uid), int(stat.Gid), euid == 0
	if !o.root {
		return o, o.Refuse()
	}
	return o, nil
}

// MkdirAll creates a directory and its missing parents, like os.MkdirAll, and gives each of them
// the owner of its parent.
func MkdirAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MkdirAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if err != nil {
		return os.MkdirAll(dir, mode) // no error if the directory exists
	}
	// Do not follow symlinks: the owner of the parent may have replaced the new directory with a
	// symlink.
	created, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(Inherit(created), created.Close())
}

// Inherit gives an open file or directory that this process has created to the owner of its parent
// directory. Only root can change the owner; if the file system forbids the change, as some network
// file systems do, root keeps the file.
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

// UID returns the user ID of the owner.
func (o Owner) UID() int { return o.uid }

// Another reports whether this process is root and the owner is another user.
func (o Owner) Another() bool { return o.root }

// Credential returns the credential with which a child process runs as the owner, or nil if the
// owner is the user of this process.
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
