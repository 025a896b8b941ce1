package index

import (
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// none is a client that is never asked.
type none struct{ rueidis.Client }

func (none) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

// client returns a client of the server that the tests of this package share, in
// a database of its own.
func client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}
