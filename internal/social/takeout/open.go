package takeout

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"retwis/internal/picture"
)

const (
	outboxName  = "outbox.json"
	picturesDir = "media_attachments"

	maxOutbox = 4 << 30
	// maxRatio limits the ratio of the unpacked size of a tar file, minus freeBytes, to its size:
	// JSON shrinks to a tenth.
	maxRatio = 100
	// picturesRatio is maxRatio for the pictures of the file, which hardly shrink.
	picturesRatio = 2
	// freeBytes is the unpacked size that is always allowed.
	freeBytes = 64 << 20
)

// Archive is an open archive.
type Archive struct {
	files   fs.FS // with the outbox in its root
	outbox  io.ReaderAt
	size    int64 // of the outbox
	closers []func() error
}

// Open opens an archive. A tar file is unpacked to a temporary directory, which Close removes. The
// outbox of a zip file is unpacked to an unnamed temporary file. Errors do not include name.
func Open(ctx context.Context, name string) (*Archive, error) {
	a := &Archive{}
	err := a.open(ctx, name)
	if err == nil {
		err = a.openOutbox(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close closes the archive.
func (a *Archive) Close() error {
	var errs []error
	for _, end := range slices.Backward(a.closers) {
		errs = append(errs, end())
	}
	a.closers = nil
	return errors.Join(errs...)
}

func (a *Archive) open(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err // without the name
	}
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return a.openDir(name)
	case !info.Mode().IsRegular():
		return errors.New("it is neither a directory nor a file")
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, file.Close)
	head := make([]byte, 4)
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		if a.files, err = zip.NewReader(file, info.Size()); err != nil {
			return fmt.Errorf("this zip file is damaged: %w", err)
		}
		return nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		dir, remove, err := scratchDir()
		if err != nil {
			return err
		}
		a.closers = append(a.closers, remove)
		if err := a.openDir(dir); err != nil {
			return err
		}
		return unpack(ctx, file, info.Size(), dir)
	}
	return errors.New("it is not an archive: use a directory, a zip file or a tar.gz file")
}

// openDir opens a directory. No name leads out of the directory, not even through a symbolic link.
func (a *Archive) openDir(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	a.files, a.closers = root.FS(), append(a.closers, root.Close)
	return nil
}

// openOutbox finds the outbox in the root or in a directory there, which then becomes the root.
func (a *Archive) openOutbox(ctx context.Context) error {
	dirs := []string{"."}
	entries, err := fs.ReadDir(a.files, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	for _, dir := range dirs {
		info, err := fs.Stat(a.files, path.Join(dir, outboxName))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if a.files, err = fs.Sub(a.files, dir); err != nil {
			return err
		}
		return a.readOutbox(ctx)
	}
	return fmt.Errorf("there is no %s in it: it is no archive of Mastodon, or only a part of one", outboxName)
}

// readOutbox opens the outbox for random access. It copies the outbox of a zip file to a temporary
// file.
func (a *Archive) readOutbox(ctx context.Context) error {
	file, err := a.files.Open(outboxName)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, file.Close)
	if at, ok := file.(io.ReaderAt); ok {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		a.outbox, a.size = at, info.Size()
		return nil
	}
	plain, err := os.CreateTemp("", scratchPrefix)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, plain.Close)
	if err := os.Remove(plain.Name()); err != nil { // nothing remains if the process is killed
		return err
	}
	a.outbox = plain
	a.size, err = io.Copy(plain, io.LimitReader(ctxReader{ctx, file}, maxOutbox+1))
	if err == nil && a.size > maxOutbox {
		err = errors.New("it has more than 4 GB")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", outboxName, err)
	}
	return nil
}

// ctxReader is a reader that stops when its context ends.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

// Read implements [io.Reader].
func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// unpack extracts the outbox and the pictures from a compressed tar file to a directory.
func unpack(ctx context.Context, file io.Reader, size int64, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	z, err := gzip.NewReader(ctxReader{ctx, file})
	if err != nil {
		return err
	}
	all := &io.LimitedReader{R: z, N: maxRatio*size + freeBytes}
	room := picturesRatio*size + freeBytes
	in, last := tar.NewReader(all), "its beginning"
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			last = fmt.Sprintf("%.200q", header.Name)
			room, err = unpackFile(root, in, header, room)
		}
		switch {
		case err != nil && all.N <= 0:
			return fmt.Errorf("after %s: it unpacks to more than an archive of this size can have", last)
		case err != nil:
			return fmt.Errorf("after %s: %w", last, err)
		}
	}
}

// unpackFile extracts a file if it is an outbox or a picture, and returns the remaining space for
// pictures. A picture that is too large is truncated.
func unpackFile(root *os.Root, in io.Reader, header *tar.Header, room int64) (int64, error) {
	name := path.Clean(header.Name)
	if header.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
		return room, nil
	}
	isPicture, limit := strings.Contains("/"+name, "/"+picturesDir+"/"), int64(picture.MaxBytes)
	switch {
	case path.Base(name) == outboxName && strings.Count(name, "/") < 2:
		limit = maxOutbox
	case !isPicture:
		return room, nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return room, err
	}
	out, err := root.Create(name)
	if err != nil {
		return room, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err = errors.Join(err, out.Close()); isPicture {
		room -= n
	}
	if err == nil && (room < 0 || n > maxOutbox) {
		err = errors.New("it unpacks to more than an archive of this size can have")
	}
	return room, err
}

// errNoFile reports that the archive lacks a picture.
var errNoFile = errors.New("no such picture in the archive")

// picture reads a picture, given its address in the outbox.
func (a *Archive) picture(url string) ([]byte, error) {
	name := path.Clean(url[max(0, strings.Index(url, picturesDir+"/")):])
	if !strings.HasPrefix(name, picturesDir+"/") {
		return nil, errNoFile
	}
	if info, err := fs.Stat(a.files, name); err != nil || !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	file, err := a.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, picture.MaxBytes+1))
}
