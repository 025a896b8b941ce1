package backup_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"retwis/internal/social/backup"
)

// The checksums of a backup detect what neither its compression nor the snapshot can: the text of a
// post was changed, and everything compressed again. A snapshot made by a scan has no checksum of
// its own.
func TestChangedAndCompressedAgain(t *testing.T) {
	t.Parallel()
	db, _ := small(t)
	var file bytes.Buffer
	if _, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{Method: backup.Scan}); err != nil {
		t.Fatal(err)
	}
	uncompressed, err := zstd.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer uncompressed.Close()
	archive, err := io.ReadAll(uncompressed)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.ReplaceAll(archive, []byte("post 17"), []byte("post 71"))
	if bytes.Equal(changed, archive) {
		t.Fatal("the backup does not have the text of a post")
	}
	for _, test := range []struct {
		archive []byte
		want    error
	}{{archive, nil}, {changed, backup.ErrDamaged}} {
		var recompressed bytes.Buffer
		z, err := zstd.NewWriter(&recompressed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(test.archive); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := backup.Verify(db.Ctx, &recompressed); !errors.Is(err, test.want) {
			t.Errorf("got %v, want %v", err, test.want)
		}
	}
}
