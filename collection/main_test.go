package collection

import (
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// client returns a client of a fresh database of the server that the tests of this
// package share.
func client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}
