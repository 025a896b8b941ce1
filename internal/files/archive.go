package files

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// An archive is a tar archive of all files, followed by a SHA256SUMS file for sha256sum -c. The
// archive is not compressed, because pictures already are.

// sumsName is the last entry of an archive.
const sumsName = "SHA256SUMS"

// maxFile limits the size of a file in an archive.
const maxFile = 64 << 20

// ErrDamaged means that an archive is incomplete, or was changed after it was written.
var ErrDamaged = errors.New("files: the archive is damaged")

// Copied counts the contents of an archive.
type Copied struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// isPicture reports whether a file is a picture of a site. Other files are partial files of killed
// processes, or were added to an archive by another program.
func isPicture(name string) bool {
	return slices.Contains([]string{".jpg", ".png", ".gif", ".webp"}, path.Ext(name))
}

// Export writes all files of a store as an archive. The store may be in use: a file that is
// deleted meanwhile is left out. Export holds one file in memory at a time.
func Export(ctx context.Context, s Store, w io.Writer) (Copied, error) {
	var done Copied
	var sums bytes.Buffer
	out := tar.NewWriter(w)
	add := func(name string, data []byte, at time.Time) error {
		header := tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: at}
		if err := out.WriteHeader(&header); err != nil {
			return err
		}
		_, err := out.Write(data)
		return err
	}
	for file, err := range s.List(ctx) {
		if err != nil {
			return done, err
		}
		if !isPicture(file.Name) {
			continue
		}
		data, err := Read(ctx, s, file.Name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			err = add(file.Name, data, file.Modified)
		}
		if err != nil {
			return done, err
		}
		done.Files++
		done.Bytes += int64(len(data))
		sum := sha256.Sum256(data)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), file.Name)
	}
	if err := add(sumsName, sums.Bytes(), time.Now()); err != nil {
		return done, err
	}
	return done, out.Close()
}

// Import reads an archive to its end and writes its files to a store; if the store is nil, Import
// only verifies the files. If the archive is damaged, Import returns ErrDamaged and keeps the files
// that it has written. Import can be repeated.
func Import(ctx context.Context, r io.Reader, to Store) (Copied, error) {
	var done Copied
	var sums bytes.Buffer
	in := tar.NewReader(r)
	for {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		header, err := in.Next()
		switch {
		case err != nil:
			return done, fmt.Errorf("%w: it is truncated: %w", ErrDamaged, err)
		case header.Name == sumsName:
			return done, finish(in, &sums)
		case header.Typeflag != tar.TypeReg || checkName(header.Name) != nil || !isPicture(header.Name) || header.Size < 0 || header.Size > maxFile:
			return done, fmt.Errorf("%w: unexpected entry %.60q", ErrDamaged, header.Name)
		}
		data := make([]byte, header.Size)
		if _, err := io.ReadFull(in, data); err != nil {
			return done, fmt.Errorf("%w: %s: %w", ErrDamaged, header.Name, err)
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), header.Name)
		if to != nil {
			if err := to.Put(ctx, header.Name, data); err != nil {
				return done, err
			}
		}
		done.Files++
		done.Bytes += header.Size
	}
}

// finish compares the checksums in an archive with the checksums of its files.
func finish(in *tar.Reader, sums *bytes.Buffer) error {
	want, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !bytes.Equal(want, sums.Bytes()) {
		return fmt.Errorf("%w: its checksums are wrong", ErrDamaged)
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more entries follow the checksums", ErrDamaged)
	}
	return nil
}
