package files_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"retwis/internal/files"
	"retwis/internal/files/filestest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func noEnv(string) string { return "" }

// each runs a test on a store of each kind.
func each(t *testing.T, test func(t *testing.T, s files.Store)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		s, err := files.Open(filepath.Join(t.TempDir(), "media"), noEnv)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		s, err := files.Open(filestest.NewS3(t).Listen(t).Place, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
	})
}

func nameOf(n int) string { return fmt.Sprintf("%032x-400.jpg", n) }

func TestStore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s files.Store) {
		ctx := t.Context()
		if _, err := s.Open(ctx, nameOf(1)); !errors.Is(err, files.ErrNotFound) {
			t.Fatalf("a file that is not there: %v", err)
		}
		if got := list(t, s); len(got) > 0 {
			t.Fatalf("an empty place has %v", got)
		}
		want := bytes.Repeat([]byte("picture"), 30_000)
		if err := s.Put(ctx, nameOf(1), want); err != nil {
			t.Fatal(err)
		}
		file, err := s.Open(ctx, nameOf(1))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Size != int64(len(want)) || file.Name != nameOf(1) || time.Since(file.Modified) > time.Hour {
			t.Errorf("it is %+v", file.Info)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		part := make([]byte, 100)
		if _, err := file.Seek(7000, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(file, part); err != nil || !bytes.Equal(part, want[7000:7100]) {
			t.Errorf("a part is %q, %v", part, err)
		}
		if err := s.Put(ctx, nameOf(1), []byte("other")); err != nil {
			t.Fatal(err)
		}
		if got, err := files.Read(ctx, s, nameOf(1)); err != nil || string(got) != "other" {
			t.Errorf("replaced: %q, %v", got, err)
		}
		for range 2 { // repeating it changes nothing
			if err := s.Delete(ctx, nameOf(1), nameOf(2)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := files.Read(ctx, s, nameOf(1)); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("after its deletion: %v", err)
		}
		if err := files.Probe(ctx, s); err != nil {
			t.Error(err)
		}
	})
}

func list(t *testing.T, s files.Store) (names []string) {
	t.Helper()
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Name)
	}
	return names
}

func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s files.Store) {
		var want []string
		for n := range 300 {
			name := fmt.Sprintf("%02x%030x-80.png", (n*7)%256, n)
			if err := s.Put(t.Context(), name, []byte{byte(n)}); err != nil {
				t.Fatal(err)
			}
			want = append(want, name)
		}
		slices.Sort(want)
		if got := list(t, s); !slices.Equal(got, want) {
			t.Errorf("%d files, want %d", len(got), len(want))
		}
		for range s.List(t.Context()) {
			break // leaves nothing behind
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s files.Store) {
		for _, name := range []string{"", "..", "../../etc/passwd", "ab/../..", nameOf(1) + "/..", "a-1.jpg", "/etc", "ABCDEFABCDEFABCDEF-1.jpg", "0123456789abcdef0123-400.jpg\n"} {
			if err := s.Put(t.Context(), name, nil); err == nil {
				t.Errorf("%q was written", name)
			}
			if _, err := s.Open(t.Context(), name); !errors.Is(err, files.ErrNotFound) {
				t.Errorf("%q: %v", name, err)
			}
			if err := s.Delete(t.Context(), name); err == nil {
				t.Errorf("%q was deleted", name)
			}
		}
	})
}

// Two identical files written concurrently are complete, and no partial file is left.
func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s files.Store) {
		results := make(chan error)
		for n := range 20 {
			go func() { results <- s.Put(t.Context(), nameOf(n%2), bytes.Repeat([]byte{byte(n)}, 10_000)) }()
		}
		for range 20 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for n := range 2 {
			got, err := files.Read(t.Context(), s, nameOf(n))
			if err != nil || !bytes.Equal(got, bytes.Repeat(got[:1], 10_000)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
		if got := list(t, s); len(got) != 2 {
			t.Errorf("there are %v", got)
		}
	})
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := filestest.NewS3(t).Listen(t)
	s, err := files.Open(server.Place, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), nameOf(1), []byte("one")); err != nil {
		t.Fatal(err)
	}
	server.Leave(false)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for what, do := range map[string]func() error{
		"put":    func() error { return s.Put(ctx, nameOf(2), nil) },
		"open":   func() error { _, err := s.Open(ctx, nameOf(1)); return err },
		"delete": func() error { return s.Delete(ctx, nameOf(1)) },
		"list": func() (err error) {
			for _, err = range s.List(ctx) {
			}
			return err
		},
	} {
		err := do()
		if !errors.Is(err, files.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s shows the secret: %v", what, err)
		}
	}
	server.Return()
	if got := list(t, s); !slices.Equal(got, []string{nameOf(1)}) {
		t.Errorf("remaining files: %v", got)
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := files.Directory(file)
	if err := files.Probe(t.Context(), s); !errors.Is(err, files.ErrUnavailable) {
		t.Errorf("a file in its place: %v", err)
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Log("this system has no /dev/full")
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"media": "media", "/srv/media": "/srv/media",
		"s3://minio:9000/pictures?tls=off":                          "s3://minio:9000/pictures",
		"s3://key:hidden@s3.eu.example.com/pictures/site?region=eu": "s3://s3.eu.example.com/pictures/site",
	} {
		s, err := files.Open(place, noEnv)
		if err != nil || s.String() != want {
			t.Errorf("%s: %v, %v", place, s, err)
		}
	}
	for _, place := range []string{"", "ftp://host/dir", "s3://host", "s3:bucket", "s3://k:hidden@host/b?tls=maybe", "s3://k:hidden@ho st/b"} {
		_, err := files.Open(place, noEnv)
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// An archive contains every file, even if others are deleted meanwhile; a damaged archive is
// rejected.
func TestArchive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s files.Store) {
		ctx := t.Context()
		for n := range 40 {
			if err := s.Put(ctx, nameOf(n), bytes.Repeat([]byte{byte(n)}, 1000*n+1000)); err != nil {
				t.Fatal(err)
			}
		}
		var archive bytes.Buffer
		done, err := files.Export(ctx, deleting{s}, &archive)
		if err != nil || done.Files != 39 {
			t.Fatalf("exported %+v, %v", done, err)
		}
		to := files.Directory(t.TempDir())
		for _, place := range []files.Store{nil, to, to} {
			if got, err := files.Import(ctx, bytes.NewReader(archive.Bytes()), place); err != nil || got != done {
				t.Errorf("imported %+v, %v; want %+v", got, err, done)
			}
		}
		if got := list(t, to); len(got) != 39 {
			t.Errorf("%d files", len(got))
		}
		if got, err := files.Read(ctx, to, nameOf(7)); err != nil || len(got) != 8000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		for _, cut := range []int{10, archive.Len() / 2, archive.Len() - 2000} {
			if _, err := files.Import(ctx, bytes.NewReader(archive.Bytes()[:cut]), nil); !errors.Is(err, files.ErrDamaged) {
				t.Errorf("cut at %d: %v", cut, err)
			}
		}
		damaged := bytes.Clone(archive.Bytes())
		damaged[archive.Len()/2] ^= 1
		if _, err := files.Import(ctx, bytes.NewReader(damaged), nil); !errors.Is(err, files.ErrDamaged) {
			t.Errorf("one bit: %v", err)
		}
	})
}

// An archive from someone else can contain files that no site writes, with correct checksums.
func TestArchiveOfOtherFiles(t *testing.T) {
	t.Parallel()
	for _, header := range []tar.Header{
		{Name: strings.TrimSuffix(nameOf(1), ".jpg") + ".svg", Mode: 0o600, Size: 5},
		{Name: strings.TrimSuffix(nameOf(1), ".jpg") + ".html", Mode: 0o600, Size: 5},
		{Name: strings.TrimSuffix(nameOf(1), ".jpg") + ".part", Mode: 0o600, Size: 5},
		{Name: nameOf(1), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: nameOf(1), Typeflag: tar.TypeLink, Linkname: nameOf(2)},
		{Name: nameOf(1), Typeflag: tar.TypeDir, Mode: 0o700},
	} {
		var archive bytes.Buffer
		out := tar.NewWriter(&archive)
		contents := []byte("<svg>")[:header.Size]
		sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(contents), header.Name)
		for _, one := range []struct {
			header tar.Header
			data   string
		}{{header, string(contents)}, {tar.Header{Name: "SHA256SUMS", Size: int64(len(sums))}, sums}} {
			if err := out.WriteHeader(&one.header); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write([]byte(one.data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		to := files.Directory(t.TempDir())
		_, err := files.Import(t.Context(), &archive, to)
		if got := list(t, to); !errors.Is(err, files.ErrDamaged) || len(got) > 0 {
			t.Errorf("%s of type %c: %v, and there are %v", header.Name, header.Typeflag, err, got)
		}
	}
}

// deleting is a store in which a file is deleted after it was listed.
type deleting struct{ files.Store }

func (d deleting) Open(ctx context.Context, name string) (*files.File, error) {
	if name == nameOf(5) {
		if err := d.Delete(ctx, name); err != nil {
			return nil, err
		}
	}
	return d.Store.Open(ctx, name)
}

// A partial file of a process that was killed while writing is listed, so that it can be deleted,
// but is not in any archive.
func TestPartial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := files.Directory(dir)
	if err := s.Put(t.Context(), nameOf(1), []byte("whole")); err != nil {
		t.Fatal(err)
	}
	digits := strings.TrimSuffix(nameOf(1), "-400.jpg")
	partial := digits + "-12345.part"
	if err := os.WriteFile(filepath.Join(dir, "00", partial), []byte("wh"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); !slices.Equal(got, []string{partial, nameOf(1)}) {
		t.Errorf("there are %v", got)
	}
	if done, err := files.Export(t.Context(), s, io.Discard); err != nil || done.Files != 1 {
		t.Errorf("exported %+v, %v", done, err)
	}
	if err := s.Delete(t.Context(), partial); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); !slices.Equal(got, []string{nameOf(1)}) {
		t.Errorf("remaining files: %v", got)
	}
}
