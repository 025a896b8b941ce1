package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"retwis/internal/owner"
)

// lockFile is the lock on a directory. The owner of the lock runs the server. The server inherits
// the lock, so the directory stays locked until owner and server have both ended. The file contains
// the path of the server's socket, which depends on the environment of the owner, and on the next
// line the process ID of the owner.
const lockFile = "lock"

// tryLock locks a directory, or returns nil if another process has the lock.
func tryLock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: lock the data directory: %w", err)
	}
	dirOwner, err := owner.Of(dir)
	if err == nil {
		err = dirOwner.GiveFile(file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil // held by another process: not an error
	}
	return nil, fmt.Errorf("store: lock the data directory %s: %w", dir, err)
}

// locked reports whether another process holds the lock on a directory. It creates nothing.
func locked(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// writeSocket records the socket of the server, for processes that want to join.
func writeSocket(lock *os.File, socket string) error {
	err := lock.Truncate(0)
	if err == nil {
		_, err = lock.WriteAt(fmt.Appendf(nil, "%s\n%d", socket, os.Getpid()), 0)
	}
	if err != nil {
		return fmt.Errorf("store: lock the data directory: %w", err)
	}
	return nil
}

// readLock returns the current or last socket of the server of a directory, and the process ID of
// its owner, or 0 if that is unknown.
func readLock(dir string) (socket string, owner int, err error) {
	text, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return "", 0, fmt.Errorf("store: %w", err)
	}
	if len(text) == 0 {
		return "", 0, fmt.Errorf("store: no process runs the server of %s yet", dir)
	}
	socket, process, _ := strings.Cut(string(text), "\n")
	owner, _ = strconv.Atoi(process)
	return socket, owner, nil
}

// readSocket returns the current or last socket of the server of a directory.
func readSocket(dir string) (string, error) {
	socket, _, err := readLock(dir)
	return socket, err
}

// orphaned reports whether the owner of the server of a directory has ended.
func orphaned(dir string) bool {
	_, owner, err := readLock(dir)
	return err == nil && owner > 0 && errors.Is(unix.Kill(owner, 0), unix.ESRCH)
}
