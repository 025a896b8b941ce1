package backup

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"retwis/internal/social/backup"
)

// named are the names that backups get in a directory.
var named = regexp.MustCompile(`^retwis-\d{8}T\d{6}Z\.backup$`)

// nameAt names a backup in a directory, so that names sort by time.
func nameAt(t time.Time) string { return "retwis-" + t.UTC().Format("20060102T150405Z") + ".backup" }

// retention is how many backups stay in a directory; 0 keeps all.
type retention struct {
	dir  string
	keep int
}

// apply removes the oldest backups. It is called when a new one is complete. A file with
// another name, or without the manifest of a backup, is none of them and stays.
func (r retention) apply() (removed []string, err error) {
	if r.keep == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	type found struct {
		path    string
		created time.Time
	}
	var all []found
	for _, entry := range entries {
		path := filepath.Join(r.dir, entry.Name())
		if !entry.Type().IsRegular() || !named.MatchString(entry.Name()) {
			continue
		}
		if created, err := createdAt(path); err == nil {
			all = append(all, found{path, created})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.path, a.path)) })
	for _, old := range all[min(r.keep, len(all)):] {
		if failed := os.Remove(old.path); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, old.path)
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
