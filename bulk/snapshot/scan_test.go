package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/snapshot"
	"retwis/internal/redistest"
)

// scannedExpiry returns the expiry that a scan reports for the only key.
func scannedExpiry(t *testing.T, c rueidis.Client) time.Time {
	t.Helper()
	var file bytes.Buffer
	if err := snapshot.Scan(t.Context(), c, c, 0, &file, nil); err != nil {
		t.Fatal(err)
	}
	const headerLen = len("REDIS0000") + 2 // with the database number
	entry := file.Bytes()[headerLen:]
	if entry[0] != 252 {
		t.Fatalf("the key has no expiry: %q", entry)
	}
	return time.UnixMilli(int64(binary.LittleEndian.Uint64(entry[1:])))
}

// near reports whether two times differ by less than ten minutes.
func near(got, want time.Time) bool { return got.Sub(want).Abs() < 10*time.Minute }

// TestScanWithAWrongClock checks that the expiry of a key follows the clock of the server. In the
// test, the clock of this machine is off by 26 years.
func TestScanWithAWrongClock(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	want := time.Now().Add(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		c := db.Client(t)
		if err := c.Do(t.Context(), c.B().Set().Key("key").Value("x").ExSeconds(3600).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if got := scannedExpiry(t, c); !near(got, want) {
			t.Errorf("the key expires at %v, want %v", got, want)
		}
	})
}

// TestScanWithoutTime checks that the scan uses the clock of this machine for a user without
// permission for TIME.
func TestScanWithoutTime(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	admin := server.Client(t)
	err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "reader", "on", ">x", "~*", "+@all", "-time").Build()).Error()
	if err != nil {
		t.Fatal(err)
	}
	c, err := rueidis.NewClient(rueidis.MustParseURL(fmt.Sprintf("redis://reader:x@127.0.0.1:%d", server.Port())))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := time.Now()
	if err := c.Do(t.Context(), c.B().Set().Key("key").Value("x").ExSeconds(3600).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if got := scannedExpiry(t, c); !near(got, before.Add(time.Hour)) {
		t.Errorf("the key expires at %v, want an hour after %v", got, before)
	}
}
