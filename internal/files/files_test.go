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

// forEachStore runs a test on a store of each kind.
func forEachStore(t *testing.T, test func(t *testing.T, s files.Store)) {
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
	forEachStore(t, func(t *testing.T, s files.Store) {
		ctx := t.Context()
		if _, err := s.Open(ctx, nameOf(1)); !errors.Is(err, files.ErrNotFound) {
			t.Fatalf("Open of a missing file: %v, want ErrNotFound", err)
		}
		if got := list(t, s); len(got) > 0 {
			t.Fatalf("empty store lists %v", got)
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
			t.Errorf("Open: got %+v, want name %s and size %d", file.Info, nameOf(1), len(want))
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v; want %d bytes", len(got), err, len(want))
		}
		part := make([]byte, 100)
		if _, err := file.Seek(7000, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(file, part); err != nil || !bytes.Equal(part, want[7000:7100]) {
			t.Errorf("read after Seek: %q, %v; want %q", part, err, want[7000:7100])
		}
		if err := s.Put(ctx, nameOf(1), []byte("other")); err != nil {
			t.Fatal(err)
		}
		if got, err := files.Read(ctx, s, nameOf(1)); err != nil || string(got) != "other" {
			t.Errorf("Read after the second Put: %q, %v; want \"other\"", got, err)
		}
		for range 2 { // the second deletion finds no file
			if err := s.Delete(ctx, nameOf(1), nameOf(2)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := files.Read(ctx, s, nameOf(1)); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("Read after Delete: %v, want ErrNotFound", err)
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
	forEachStore(t, func(t *testing.T, s files.Store) {
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
			t.Errorf("List returned %d files, want %d sorted by name", len(got), len(want))
		}
		for range s.List(t.Context()) {
			break // must leak no goroutine
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, s files.Store) {
		for _, name := range []string{"", "..", "../../etc/passwd", "ab/../..", nameOf(1) + "/..", "a-1.jpg", "/etc", "ABCDEFABCDEFABCDEF-1.jpg", "0123456789abcdef0123-400.jpg\n"} {
			if err := s.Put(t.Context(), name, nil); err == nil {
				t.Errorf("Put accepted the name %q", name)
			}
			if _, err := s.Open(t.Context(), name); !errors.Is(err, files.ErrNotFound) {
				t.Errorf("Open(%q): %v, want ErrNotFound", name, err)
			}
			if err := s.Delete(t.Context(), name); err == nil {
				t.Errorf("Delete accepted the name %q", name)
			}
		}
	})
}

// Files that are written concurrently under the same name are complete, and no partial file is
// left.
func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, s files.Store) {
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
				t.Errorf("%s: read %d bytes, %v; want 10000 equal bytes", nameOf(n), len(got), err)
			}
		}
		if got := list(t, s); len(got) != 2 {
			t.Errorf("List = %v, want 2 files", got)
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
	for name, do := range map[string]func() error{
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
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error contains the secret: %v", name, err)
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
		t.Errorf("Probe of a regular file: %v, want ErrUnavailable", err)
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
			t.Errorf("Open(%s) = %v, %v; want %s", place, s, err, want)
		}
	}
	for _, place := range []string{"", "ftp://host/dir", "s3://host", "s3:bucket", "s3://k:hidden@host/b?tls=maybe", "s3://k:hidden@ho st/b"} {
		_, err := files.Open(place, noEnv)
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("Open(%s): %v, want an error without the secret", place, err)
		}
	}
}

// Export skips a file that is deleted during the export and archives all others. Import rejects a
// damaged archive.
func TestArchive(t *testing.T) {
	t.Parallel()
	forEachStore(t, func(t *testing.T, s files.Store) {
		ctx := t.Context()
		for n := range 40 {
			if err := s.Put(ctx, nameOf(n), bytes.Repeat([]byte{byte(n)}, 1000*n+1000)); err != nil {
				t.Fatal(err)
			}
		}
		var archive bytes.Buffer
		done, err := files.Export(ctx, deleting{s}, &archive)
		if err != nil || done.Files != 39 {
			t.Fatalf("Export = %+v, %v; want 39 files", done, err)
		}
		to := files.Directory(t.TempDir())
		for _, place := range []files.Store{nil, to, to} {
			if got, err := files.Import(ctx, bytes.NewReader(archive.Bytes()), place); err != nil || got != done {
				t.Errorf("Import = %+v, %v; want %+v", got, err, done)
			}
		}
		if got := list(t, to); len(got) != 39 {
			t.Errorf("List returned %d files after Import, want 39", len(got))
		}
		if got, err := files.Read(ctx, to, nameOf(7)); err != nil || len(got) != 8000 {
			t.Errorf("%s: read %d bytes, %v; want 8000", nameOf(7), len(got), err)
		}
		for _, cut := range []int{10, archive.Len() / 2, archive.Len() - 2000} {
			if _, err := files.Import(ctx, bytes.NewReader(archive.Bytes()[:cut]), nil); !errors.Is(err, files.ErrDamaged) {
				t.Errorf("archive truncated at %d: %v, want ErrDamaged", cut, err)
			}
		}
		damaged := bytes.Clone(archive.Bytes())
		damaged[archive.Len()/2] ^= 1
		if _, err := files.Import(ctx, bytes.NewReader(damaged), nil); !errors.Is(err, files.ErrDamaged) {
			t.Errorf("archive with a flipped bit: %v, want ErrDamaged", err)
		}
	})
}

// Import rejects an archive of files that no site writes, even if the checksums are correct.
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
		for _, entry := range []struct {
			header tar.Header
			data   string
		}{{header, string(contents)}, {tar.Header{Name: "SHA256SUMS", Size: int64(len(sums))}, sums}} {
			if err := out.WriteHeader(&entry.header); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write([]byte(entry.data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		to := files.Directory(t.TempDir())
		_, err := files.Import(t.Context(), &archive, to)
		if got := list(t, to); !errors.Is(err, files.ErrDamaged) || len(got) > 0 {
			t.Errorf("%s of type %c: %v, want ErrDamaged; imported files: %v", header.Name, header.Typeflag, err, got)
		}
	}
}

// deleting is a store that deletes file 5 when the file is opened.
type deleting struct{ files.Store }

func (d deleting) Open(ctx context.Context, name string) (*files.File, error) {
	if name == nameOf(5) {
		if err := d.Delete(ctx, name); err != nil {
			return nil, err
		}
	}
	return d.Store.Open(ctx, name)
}

// List returns the partial file that a killed process left, so that a caller can delete the file.
// Export skips partial files.
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
		t.Errorf("List = %v, want the partial and the complete file", got)
	}
	if done, err := files.Export(t.Context(), s, io.Discard); err != nil || done.Files != 1 {
		t.Errorf("Export = %+v, %v; want 1 file", done, err)
	}
	if err := s.Delete(t.Context(), partial); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); !slices.Equal(got, []string{nameOf(1)}) {
		t.Errorf("remaining files: %v", got)
	}
}
