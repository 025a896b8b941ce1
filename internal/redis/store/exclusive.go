package store

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"retwis/internal/owner"
)

// ErrInUse: another process runs a server on the data directory.
var ErrInUse = errors.New("the data directory is in use")

// DataDir returns the directory of an embedded database.
func DataDir(rawURL string, getenv func(string) string) (string, error) {
	config, err := Parse(rawURL)
	if err != nil {
		return "", err
	}
	if config.Kind != Embedded {
		return "", fmt.Errorf("store: %s is no data directory", config)
	}
	if config.Dir != "" {
		return filepath.Abs(config.Dir)
	}
	return DefaultDir(getenv)
}

// Exclusive prevents other retwis processes from running a server on a data directory
// until the returned value is closed. It returns ErrInUse if one runs.
func Exclusive(dir string) (io.Closer, error) {
	if _, err := owner.Of(dir); err != nil {
		return nil, err
	}
	lock, err := tryLock(dir)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, fmt.Errorf("store: %w: %s", ErrInUse, dir)
	}
	return lock, nil
}
