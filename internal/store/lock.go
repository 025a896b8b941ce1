package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockFile is the lock on a directory. Who holds it runs the server. The
// server inherits it, so it stays held until owner and server are both gone.
const lockFile = "lock"

// tryLock takes the lock of a directory, or returns nil when somebody has it.
func tryLock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: lock the data directory: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil //nolint:nilnil // held by somebody is no error
	}
	return nil, fmt.Errorf("store: lock the data directory %s: %w", dir, err)
}
