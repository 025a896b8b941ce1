package collection

import (
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// client returns a client for an empty database of the server shared by the tests of this
// package.
func client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}
