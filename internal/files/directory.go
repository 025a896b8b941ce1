package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"retwis/internal/owner"
)

// Directory is a Store in a directory, with subdirectories named by the first two digits of each
// name.
type Directory string

var _ Store = Directory("")

// partial is the suffix of files that are being written. List also returns partial files that
// killed processes left.
const partial = ".part"

func (d Directory) String() string { return string(d) }

func (d Directory) path(name string) string {
	return filepath.Join(string(d), name[:2], name)
}

// Put implements Store. It writes and syncs a temporary file, and then renames the file. Files
// written by root belong to the owner of the directory.
func (d Directory) Put(ctx context.Context, name string, data []byte) error {
	if err := errors.Join(checkName(name), ctx.Err()); err != nil {
		return err
	}
	return d.wrapError(ctx, d.put(d.path(name), data))
}

func (d Directory) put(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := owner.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	digits, _, _ := strings.Cut(filepath.Base(path), "-")
	file, err := os.CreateTemp(dir, digits+"-*"+partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if _, err = file.Write(data); err == nil {
		err = errors.Join(owner.Inherit(file), file.Sync())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory forces the entries of a directory to disk.
func syncDirectory(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = opened.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // some file systems neither support nor need this
	}
	return errors.Join(err, opened.Close())
}

// wrapError translates an error into one of this package's errors.
func (d Directory) wrapError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return wrapError(ctx, d, err)
}

// Open implements Store.
func (d Directory) Open(ctx context.Context, name string) (*File, error) {
	if err := errors.Join(checkName(name), ctx.Err()); err != nil {
		return nil, err
	}
	file, err := os.Open(d.path(name))
	if err != nil {
		return nil, d.wrapError(ctx, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(d.wrapError(ctx, err), file.Close())
	}
	return &File{file, Info{name, info.Size(), info.ModTime()}}, nil
}

// Delete implements Store.
func (d Directory) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := errors.Join(checkName(name), ctx.Err()); err != nil {
			return err
		}
		if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return d.wrapError(ctx, err)
		}
	}
	return nil
}

// List implements Store.
func (d Directory) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		dirs, err := os.ReadDir(string(d))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		for _, dir := range dirs {
			if len(dir.Name()) != 2 || !dir.IsDir() {
				continue
			}
			var found []Info
			if found, err = d.listOne(ctx, dir.Name()); err != nil {
				break
			}
			for _, info := range found {
				if !yield(info, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(Info{}, d.wrapError(ctx, err))
		}
	}
}

// listOne returns the files of one subdirectory.
func (d Directory) listOne(ctx context.Context, dir string) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(string(d), dir))
	if err != nil {
		return nil, err
	}
	var found []Info
	for _, entry := range entries {
		if checkName(entry.Name()) != nil || !strings.HasPrefix(entry.Name(), dir) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, Info{entry.Name(), info.Size(), info.ModTime()})
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}
