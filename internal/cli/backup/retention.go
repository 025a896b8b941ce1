package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"retwis/internal/social/backup"
)

// File name suffixes of backups in a directory and of their picture archives.
const (
	databaseExt = ".backup"
	picturesExt = ".pictures.tar"
)

// backupName matches the names that nameAt returns.
var backupName = regexp.MustCompile(`^retwis-\d{8}T\d{6}Z(\.backup|\.pictures\.tar)$`)

// nameAt returns a file name for a time. The names sort by time.
func nameAt(t time.Time, ext string) string {
	return "retwis-" + t.UTC().Format("20060102T150405Z") + ext
}

// retention limits the number of backups in a directory.
type retention struct {
	dir      string
	pictures string // directory of the picture archives, possibly the same
	keep     int    // maximum number of backups; 0 for no limit
	made     string // the new backup, which is kept whatever its time: clocks can be wrong
}

// apply removes the oldest backups and the picture archives that no remaining backup needs. apply
// is called once a new backup is complete. Files with other names or without a backup's manifest
// are kept. Backups that cannot be read are also kept, and reported in unread; then all archives
// are kept, because an unreadable backup may need any of them.
func (r retention) apply() (removed []string, unread, err error) {
	if r.keep == 0 {
		return nil, nil, nil
	}
	all, unread, err := r.latest()
	if err != nil {
		return nil, nil, err
	}
	kept := all[:min(r.keep, len(all))]
	removed, err = removeAll(all[len(kept):])
	if err != nil || unread != nil || len(kept) == 0 {
		return removed, unread, err // a backup outside kept may need any archive
	}
	oldest := filepath.Base(kept[0])
	for _, path := range kept {
		oldest = min(oldest, filepath.Base(path))
	}
	archives, err := r.unneeded(oldest)
	if err != nil {
		return removed, nil, err
	}
	more, err := removeAll(archives)
	return append(removed, more...), nil, err
}

// latest returns the backups: the new one first, then the others from newest to oldest.
func (r retention) latest() (sorted []string, unread, err error) {
	paths, err := inOrder(r.dir, databaseExt)
	if err != nil {
		return nil, nil, err
	}
	created := map[string]time.Time{}
	for _, path := range paths {
		at, err := createdAt(path)
		var failed *fs.PathError
		switch {
		case err == nil:
			created[path] = at
			sorted = append(sorted, path)
		case errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist):
			unread = errors.Join(unread, failed)
		case errors.Is(err, backup.ErrOtherVersion), errors.Is(err, backup.ErrDamaged):
			unread = errors.Join(unread, fmt.Errorf("%s: %w", path, err))
		}
	}
	slices.SortFunc(sorted, func(a, b string) int {
		switch r.made {
		case a:
			return -1
		case b:
			return 1
		}
		return cmp.Or(created[b].Compare(created[a]), cmp.Compare(b, a))
	})
	return sorted, unread, nil
}

// unneeded returns the picture archives that no backup needs. oldest is the name of the oldest
// backup. This backup needs the last archive written with or before it: not every backup has an
// archive of its own.
func (r retention) unneeded(oldest string) ([]string, error) {
	archives, err := inOrder(r.pictures, picturesExt)
	until := strings.TrimSuffix(oldest, databaseExt) + picturesExt
	n := 0
	for n < len(archives) && filepath.Base(archives[n]) <= until {
		n++
	}
	return archives[:max(0, n-1)], err
}

// inOrder returns the files of a directory that are named like backups and have the suffix ext,
// sorted by name.
func inOrder(dir, ext string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Type().IsRegular() && backupName.MatchString(entry.Name()) && strings.HasSuffix(entry.Name(), ext) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, err
}

// removeAll removes files and returns the files that it has removed.
func removeAll(paths []string) (removed []string, err error) {
	for _, path := range paths {
		if failed := os.Remove(path); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}

// createdAt returns the creation time in a backup's manifest.
func createdAt(path string) (time.Time, error) {
	file, err := os.Open(path)
	if err != nil {
		return time.Time{}, err
	}
	defer file.Close()
	b, err := backup.Open(file)
	if err != nil {
		return time.Time{}, err
	}
	defer b.Close()
	return b.Manifest.Created, nil
}
