package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"retwis/bulk"
	"retwis/internal/social/storage"
)

// ErrDamaged reports that the file is not a complete backup.
var ErrDamaged = errors.New("the backup is damaged")

// ErrOtherVersion reports that the format of the backup, or the layout of its keys, belongs to
// another version.
var ErrOtherVersion = errors.New("only another version of retwis can restore this backup")

// maxManifest limits the size of the manifest.
const maxManifest = 64 << 10

// Reader reads a backup from beginning to end.
type Reader struct {
	Manifest Manifest

	mu    sync.Mutex // a Read can outlive a stopped load
	zstd  *zstd.Decoder
	tar   *tar.Reader
	next  *tar.Header // the next entry
	sums  bytes.Buffer
	sum   hash.Hash // of the current entry
	part  int
	piece int
	err   error
}

// Open reads the manifest of a backup. The Reader must be closed.
func Open(r io.Reader) (*Reader, error) {
	z, err := zstd.NewReader(fileReader{r}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	b := &Reader{zstd: z, tar: tar.NewReader(z), sum: sha256.New()}
	if err := b.open(); err != nil {
		z.Close()
		return nil, fmt.Errorf("backup: %w", err)
	}
	return b, nil
}

func (b *Reader) open() error {
	header, err := b.tar.Next()
	if err != nil || header.Name != manifestName || header.Size > maxManifest {
		if readErr := new(readError); errors.As(err, &readErr) {
			return err
		}
		return errors.New("this is not a retwis backup, or its beginning is damaged")
	}
	text, err := io.ReadAll(io.TeeReader(b.tar, b.sum))
	if err != nil {
		return damaged(err)
	}
	b.endEntry(manifestName)
	if err := json.Unmarshal(text, &b.Manifest); err != nil {
		return fmt.Errorf("%w: its manifest: %w", ErrDamaged, err)
	}
	m := b.Manifest
	switch {
	case m.Format > Format || !slices.Contains([]string{"", storage.Version, storage.ClusterVersion}, m.Layout):
		return fmt.Errorf("%w: retwis %s made it (format %d, layout %q; this one reads format %d, layout %s)",
			ErrOtherVersion, m.Retwis, m.Format, m.Layout, Format, storage.Version)
	case m.Format < 1 || m.Parts < 1 || m.Parts > 1000 || m.Database < 0:
		return fmt.Errorf("%w: its manifest is invalid", ErrDamaged)
	}
	return b.advance()
}

// readError is an error in reading the file rather than in its contents.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// fileReader marks the errors of a file as readErrors.
type fileReader struct{ r io.Reader }

func (f fileReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readError{err}
	}
	return n, err
}

// damaged returns an error of the archive or its compression as ErrDamaged. It returns a readError
// unchanged.
func damaged(err error) error {
	readErr := new(readError)
	switch {
	case errors.As(err, &readErr), errors.Is(err, ErrDamaged):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it was cut off; its end is missing", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// advance moves to the next entry.
func (b *Reader) advance() error {
	var err error
	if b.next, err = b.tar.Next(); err != nil {
		b.err = damaged(err)
	}
	return b.err
}

// endEntry records the checksum of the current entry.
func (b *Reader) endEntry(name string) {
	fmt.Fprintf(&b.sums, "%s  %s\n", hex.EncodeToString(b.sum.Sum(nil)), name)
	b.sum.Reset()
}

// Files returns the parts, to be loaded in order, each once.
func (b *Reader) Files() []bulk.File {
	files := make([]bulk.File, b.Manifest.Parts)
	for i := range files {
		name := fmt.Sprintf("part %d of the backup", i+1)
		files[i] = bulk.File{Name: name, Format: bulk.RDB, Open: func() (io.ReadCloser, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.part, b.piece = i+1, 0
			return &part{b}, nil
		}}
	}
	return files
}

// part is the snapshot of one server.
type part struct{ b *Reader }

func (*part) Close() error { return nil }

func (p *part) Read(buf []byte) (int, error) {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil {
		if b.next.Name != pieceName(b.part, b.piece+1) {
			return 0, io.EOF
		}
		n, err := b.tar.Read(buf)
		b.sum.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			err = nil
			b.piece++
			b.endEntry(b.next.Name)
			_ = b.advance() // sets b.err
		} else if err != nil {
			b.err = damaged(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, b.err
}

// Finish reads the end of the backup after its parts. It returns ErrDamaged if anything in the
// backup differs from what was written.
func (b *Reader) Finish() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return fmt.Errorf("backup: %w", b.err)
	}
	if b.next.Name != sumsName || b.next.Size != int64(b.sums.Len()) {
		return fmt.Errorf("backup: %w: it has %.60q instead of its checksums", ErrDamaged, b.next.Name)
	}
	sums, err := io.ReadAll(b.tar)
	if err != nil {
		return fmt.Errorf("backup: %w", damaged(err))
	}
	if !bytes.Equal(sums, b.sums.Bytes()) {
		return fmt.Errorf("backup: %w: its checksums are wrong", ErrDamaged)
	}
	if _, err := b.tar.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("backup: %w: there is data after its end", ErrDamaged)
	}
	// The checksum of the compression is at the very end of the file.
	switch n, err := io.Copy(io.Discard, b.zstd); {
	case err != nil:
		return fmt.Errorf("backup: %w", damaged(err))
	case n > 0:
		return fmt.Errorf("backup: %w: there is data after its end", ErrDamaged)
	}
	return nil
}

// Close releases the resources of the Reader.
func (b *Reader) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = errClosed
	b.zstd.Close()
}

var errClosed = errors.New("the backup is closed")

// Verify reads a complete backup and changes nothing. It returns ErrDamaged if the backup cannot be
// restored.
func Verify(ctx context.Context, r io.Reader) (Manifest, int64, error) {
	b, err := Open(r)
	if err != nil {
		return Manifest{}, 0, err
	}
	defer b.Close()
	report, err := bulk.Emit(ctx, io.Discard, bulk.Options{Database: &b.Manifest.Database}, b.Files()...)
	if err = b.explain(err); err != nil {
		return b.Manifest, 0, err
	}
	return b.Manifest, report.Records, b.Finish()
}

// explain returns the cause of an error in loading the parts. An error of the archive takes
// precedence, because it causes errors in parts.
func (b *Reader) explain(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var inputErr *bulk.InputError
	switch {
	case err == nil:
		return nil
	case b.err != nil:
		return fmt.Errorf("backup: %w", b.err)
	case errors.As(err, &inputErr):
		return fmt.Errorf("backup: %w: %w", ErrDamaged, err)
	}
	return err
}
