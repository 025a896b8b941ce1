package backup_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"retwis/internal/social/backup"
)

// The checksums of a backup detect that the text of a post was changed and the archive compressed
// again. The checksum of the compression cannot detect this change, and a snapshot made by a scan
// has no checksum.
func TestChangedAndCompressedAgain(t *testing.T) {
	t.Parallel()
	db, _ := smallSite(t)
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
		t.Fatal("the backup does not contain the text of post 17")
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
			t.Errorf("Verify: %v, want %v", err, test.want)
		}
	}
}
