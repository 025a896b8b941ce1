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

// scanned returns the expiry that a scan reports for the only key.
func scanned(t *testing.T, c rueidis.Client) time.Time {
	t.Helper()
	var file bytes.Buffer
	if err := snapshot.Scan(t.Context(), c, c, 0, &file, nil); err != nil {
		t.Fatal(err)
	}
	const head = len("REDIS0000") + 2 // and the database number
	entry := file.Bytes()[head:]
	if entry[0] != 252 {
		t.Fatalf("the key has no expiry: %q", entry)
	}
	return time.UnixMilli(int64(binary.LittleEndian.Uint64(entry[1:])))
}

func near(got, want time.Time) bool { return got.Sub(want).Abs() < 10*time.Minute }

// The expiry of a key follows the clock of the server: this machine's clock is off by 26 years
// here.
func TestScanWithAWrongClock(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	want := time.Now().Add(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		c := db.Client(t)
		if err := c.Do(t.Context(), c.B().Set().Key("key").Value("x").ExSeconds(3600).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if got := scanned(t, c); !near(got, want) {
			t.Errorf("the key expires at %v, want %v", got, want)
		}
	})
}

// For a user without permission for TIME, the scan uses the clock of this machine.
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
	if got := scanned(t, c); !near(got, before.Add(time.Hour)) {
		t.Errorf("the key expires at %v, an hour after %v", got, before)
	}
}
