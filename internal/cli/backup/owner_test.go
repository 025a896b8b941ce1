package backup

import (
	"os"
	"syscall"
	"testing"

	"retwis/internal/cli/shell"
)

// A backup that root writes into another user's directory belongs to that user, so that the user's
// own backups with --keep can read it. Other users own what they write.
func TestOwner(t *testing.T) {
	t.Parallel()
	dir, want := t.TempDir(), os.Geteuid()
	if want == 0 {
		want = 12345
		if err := os.Chown(dir, want, want); err != nil {
			t.Fatal(err)
		}
	}
	to, err := open(&shell.Command{}, dir, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer to.discard()
	for _, out := range []*output{to.database, to.pictures} {
		if err := out.commit(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(out.name)
		if err != nil {
			t.Fatal(err)
		}
		if stat := info.Sys().(*syscall.Stat_t); int(stat.Uid) != want || info.Mode() != 0o600 {
			t.Errorf("%s: owner %d, mode %v; want owner %d, mode 0600", out.name, stat.Uid, info.Mode(), want)
		}
	}
}
