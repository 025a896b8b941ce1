package takeout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// scratchPrefix is the prefix of the names of temporary directories and files.
const scratchPrefix = "retwis-import-"

// scratchDir creates a temporary directory that is locked while this process uses it, and removes
// the directories that killed processes have left.
func scratchDir() (name string, remove func() error, err error) {
	if err := removeOrphans(); err != nil {
		return "", nil, err
	}
	for {
		name, err := os.MkdirTemp("", scratchPrefix)
		if err != nil {
			return "", nil, err
		}
		switch lock, err := lockDir(name); {
		case lock != nil:
			return name, func() error { return errors.Join(os.RemoveAll(name), lock.Close()) }, nil
		case err != nil:
			return "", nil, errors.Join(err, os.Remove(name))
		}
		// Another process has just removed the directory as an orphan.
	}
}

// removeOrphans removes the temporary directories that no process uses.
func removeOrphans() error {
	names, err := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		lock, err := lockDir(name)
		if lock == nil || err != nil { // in use, or another user's
			continue
		}
		if err := errors.Join(os.RemoveAll(name), lock.Close()); err != nil {
			return fmt.Errorf("remove the files of an interrupted import: %w", err)
		}
	}
	return nil
}

// lockDir locks a directory until the file is closed. It returns nil if the directory is locked or
// gone.
func lockDir(name string) (*os.File, error) {
	dir, err := os.OpenFile(name, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = os.Stat(name) // the directory may have been removed before it was locked
	}
	if err == nil {
		return dir, nil
	}
	dir.Close()
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return nil, err
}
