package index

import (
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// offlineClient is a client without a server.
type offlineClient struct{ rueidis.Client }

func (offlineClient) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

// client returns a client of a new database. The tests of this package share a server.
func client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}
