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

// What the names of backups in a directory, and of the pictures that belong to them, end with.
const (
	databaseExt = ".backup"
	picturesExt = ".pictures.tar"
)

var named = regexp.MustCompile(`^retwis-\d{8}T\d{6}Z(\.backup|\.pictures\.tar)$`)

// nameAt names a file in a directory, so that names sort by time.
func nameAt(t time.Time, ext string) string {
	return "retwis-" + t.UTC().Format("20060102T150405Z") + ext
}

// retention is how many backups stay in a directory; 0 keeps all.
type retention struct {
	dir      string
	pictures string // the directory of archives of pictures, which may be the same
	keep     int
	made     string // the new backup, which stays whatever its time: clocks can be wrong
}

// apply removes the oldest backups, and the archives of pictures that no other one needs. It is
// called when a new one is complete. A file with another name, or without the manifest of a
// backup, is none of them and stays. So do one that cannot be read, which unread names, and all
// archives then: it may need any of them.
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
		return removed, unread, err // whatever is left may need its pictures
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

// latest returns the backups, the new one first, then from the latest to the oldest one.
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

// unneeded returns the archives of pictures that no backup needs, the oldest of which has a name:
// a later archive was written before it, or with it. Not each backup has an archive.
func (r retention) unneeded(oldest string) ([]string, error) {
	archives, err := inOrder(r.pictures, picturesExt)
	until := strings.TrimSuffix(oldest, databaseExt) + picturesExt
	n := 0
	for n < len(archives) && filepath.Base(archives[n]) <= until {
		n++
	}
	return archives[:max(0, n-1)], err
}

// inOrder returns the files of a directory with such names and an ending, in the order of their
// names.
func inOrder(dir, ext string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Type().IsRegular() && named.MatchString(entry.Name()) && strings.HasSuffix(entry.Name(), ext) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, err
}

// removeAll removes files, and returns which of them are gone.
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

// createdAt returns the time of a backup, by its manifest.
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
