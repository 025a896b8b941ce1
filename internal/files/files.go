// Package files keeps files that never change, by random names, where all processes of a site
// find them: in a directory, or in a bucket of a server that speaks the protocol of Amazon S3.
//
//  1. [Open] opens a place by the value of --media.
//  2. [Store.Put] writes a file, whole or not at all; [Store.Open] reads it, or a part of it.
//  3. [Store.Delete] removes files; [Store.List] finds those that nothing names any more.
//  4. [Probe] writes, reads and deletes a file, to see whether the place is usable.
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
	// ErrNotFound: there is no file of this name.
	ErrNotFound = errors.New("files: no such file")
	// ErrFull: there is no room for another file.
	ErrFull = errors.New("files: no space left")
	// ErrUnavailable: the place cannot be reached, or refuses what it is asked for.
	ErrUnavailable = errors.New("files: not available")
)

// Store is a place for files. It is safe for concurrent use, also by several processes.
//
// Names are hexadecimal digits, a hyphen, a word and an extension: 5f…c2-400.jpg. Another name
// is an error. Every error wraps one of those of this package, or that of the context.
type Store interface {
	// Put writes a file, or replaces it. When it returns, a crash cannot lose the file.
	Put(ctx context.Context, name string, data []byte) error
	// Open opens a file, or returns ErrNotFound. Reading ends with ctx.
	Open(ctx context.Context, name string) (*File, error)
	// Delete removes files; one that does not exist is no error.
	Delete(ctx context.Context, names ...string) error
	// List returns the files, in the order of their names. It ends after an error.
	List(ctx context.Context) iter.Seq2[Info, error]
	// String names the place, without secrets.
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

// minDigits is how many digits a name has at least: more than two files ever share.
const minDigits = 16

var isName = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d,64}-[0-9a-z]{1,16}\.[a-z0-9]{1,8}$`, minDigits))

// checkName refuses what is no name of a file, such as a path that leads elsewhere.
func checkName(name string) error {
	if !isName.MatchString(name) {
		return fmt.Errorf("%w: %.40q is not the name of a file", ErrNotFound, name)
	}
	return nil
}

// typeOf is the media type of a file.
func typeOf(name string) string { return mime.TypeByExtension(path.Ext(name)) }

// Open opens a place: the path of a directory, which is made when it is first written to, or
// s3://[key:secret@]host[:port]/bucket[/prefix][?region=NAME][&tls=off]. getenv has
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION where the
// address has none. It does not connect.
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
		err = fmt.Errorf("%w: a file that was written has other contents", ErrUnavailable)
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
		return nil, failed(ctx, s, err)
	}
	return data, nil
}

// failed wraps an error of a place, unless it wraps one of this package already.
func failed(ctx context.Context, s Store, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrFull), errors.Is(err, ErrUnavailable):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, s, errors.Join(err, context.Cause(ctx)))
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s, err)
}
