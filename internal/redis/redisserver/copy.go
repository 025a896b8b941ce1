package redisserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dataPaths returns the existing files of a server in a directory, relative to it.
func dataPaths(dir string) ([]string, error) {
	var all []string
	for _, pattern := range []string{aofName, dumpName, filepath.Join(aofDir, "*")} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		if err != nil {
			return nil, fmt.Errorf("redisserver: %w", err)
		}
		for _, path := range found {
			info, err := os.Lstat(path)
			if err != nil {
				return nil, fmt.Errorf("redisserver: %w", err)
			}
			if name, err := filepath.Rel(dir, path); err == nil && info.Mode().IsRegular() {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

func escapeGlob(path string) string {
	var escaped []rune
	for _, r := range path {
		switch r {
		case '*', '?', '[', '\\':
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, r)
	}
	return string(escaped)
}

// Copy copies the data files of the directory to a new one, and syncs the copy to the disk. It
// returns the number of bytes. If they do not fit on the disk, it writes nothing.
func (d *Diagnosis) Copy(to string) (int64, error) {
	names, err := dataPaths(d.Dir)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, name := range names {
		size += d.fileSize(name)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return 0, fmt.Errorf("redisserver: make the directory of the copy: %w", err)
	}
	free, err := freeSpace(to)
	if err == nil && free < size {
		err = fmt.Errorf("redisserver: %s has %d bytes free, the copy takes %d: give another directory", filepath.Dir(to), free, size)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(to))
	}
	for _, name := range names {
		if err := copyFile(filepath.Join(d.Dir, name), filepath.Join(to, name)); err != nil {
			return 0, fmt.Errorf("redisserver: copy %s: %w", name, err)
		}
	}
	return size, errors.Join(d.owner.GiveAll(to), syncPath(to))
}

func freeSpace(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("redisserver: free space of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil // the types differ between systems
}

func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// syncPath syncs a file or directory to the disk, if it exists.
func syncPath(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	return nil
}
