// Package files stores immutable files under random names, for all processes of a site: in a
// directory, or in a bucket of a server that supports the Amazon S3 protocol.
//
//  1. [Open] opens a store by the value of --media.
//  2. [Store.Put] writes a file atomically; [Store.Open] reads it, or a part of it.
//  3. [Store.Delete] removes files; [Store.List] lists all files.
//  4. [Probe] writes, reads and deletes a file, to check that the store is usable.
package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"path"
	"regexp"
	"strings"
	"time"
)

var (
	// ErrNotFound means that there is no file with this name.
	ErrNotFound = errors.New("files: no such file")
	// ErrFull means that there is no space for another file.
	ErrFull = errors.New("files: no space left")
	// ErrUnavailable means that the store cannot be reached, or rejects a request.
	ErrUnavailable = errors.New("files: not available")
)

// Store stores files. It is safe for concurrent use, even by several processes.
//
// Names consist of hexadecimal digits, a hyphen, a word and an extension: 5f…c2-400.jpg. Other
// names are errors. Every error wraps one of the errors of this package, or the error of the context.
type Store interface {
	// Put writes a file, or replaces it. When it returns, a crash cannot lose the file.
	Put(ctx context.Context, name string, data []byte) error
	// Open opens a file, or returns ErrNotFound. Reading ends with ctx.
	Open(ctx context.Context, name string) (*File, error)
	// Delete removes files. A file that does not exist is not an error.
	Delete(ctx context.Context, names ...string) error
	// List returns the files in order of their names. It stops after an error.
	List(ctx context.Context) iter.Seq2[Info, error]
	// String describes the store, without secrets.
	String() string
}

// Info describes a file.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

// File is an open file.
type File struct {
	io.ReadSeekCloser
	Info
}

// minDigits is the minimum number of hexadecimal digits in a name.
const minDigits = 16

var isName = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d,64}-[0-9a-z]{1,16}\.[a-z0-9]{1,8}$`, minDigits))

// checkName rejects invalid file names, such as paths to other directories.
func checkName(name string) error {
	if !isName.MatchString(name) {
		return fmt.Errorf("%w: %.40q is not a valid file name", ErrNotFound, name)
	}
	return nil
}

// typeOf returns the media type of a file.
func typeOf(name string) string { return mime.TypeByExtension(path.Ext(name)) }

// Open opens a store: the path of a directory, which is created on the first write, or
// s3://[key:secret@]host[:port]/bucket[/prefix][?region=NAME][&tls=off]. If the address lacks
// credentials or a region, getenv supplies AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN and AWS_REGION. Open does not connect.
func Open(place string, getenv func(string) string) (Store, error) {
	if strings.HasPrefix(place, "s3:") {
		return openS3(place, getenv)
	}
	if place == "" || strings.Contains(place, "://") {
		return nil, fmt.Errorf("files: %q is neither a directory nor s3://host/bucket", place)
	}
	return Directory(place), nil
}

// Probe writes a file, reads it and deletes it.
func Probe(ctx context.Context, s Store) error {
	var id [minDigits]byte
	_, _ = rand.Read(id[:]) // never fails
	name, want := hex.EncodeToString(id[:])+"-probe.txt", id[:]
	if err := s.Put(ctx, name, want); err != nil {
		return err
	}
	got, err := Read(ctx, s, name)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%w: the contents read differ from the contents written", ErrUnavailable)
	}
	return errors.Join(err, s.Delete(ctx, name))
}

// Read returns the contents of a file, or ErrNotFound.
func Read(ctx context.Context, s Store, name string) ([]byte, error) {
	file, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, wrapError(ctx, s, err)
	}
	return data, nil
}

// wrapError wraps an error of a store, unless the error already wraps one of this package's errors.
func wrapError(ctx context.Context, s Store, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrFull), errors.Is(err, ErrUnavailable):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, s, errors.Join(err, context.Cause(ctx)))
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s, err)
}
