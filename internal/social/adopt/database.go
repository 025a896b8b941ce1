package adopt

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/storage"
)

// Database is a database to be adopted.
type Database struct {
	client  rueidis.Client
	log     *slog.Logger
	cluster bool
}

// New returns the database of client. The caller remains the owner of client. Warnings for the
// operator go to log.
func New(client rueidis.Client, log *slog.Logger) Database {
	return Database{client: client, log: log, cluster: client.Mode() == rueidis.ClientModeCluster}
}

const (
	// scanCount is how many keys or fields one step of a scan requests. A step takes the server
	// well under a millisecond.
	scanCount = 1000
	// scanTimeout limits the wait for one node of a Cluster, which may be permanently down.
	scanTimeout = 15 * time.Second
)

// keys calls visit with every matching key, in pages; seen is the approximate number of keys that
// the server scanned for the page. A key may be visited twice.
func (d Database) keys(ctx context.Context, match string, visit func(keys []string, seen int64) error) error {
	for page, err := range scan.Keys(ctx, d.client, scan.Pattern{Match: match, Count: scanCount, Timeout: scanTimeout}) {
		if err != nil {
			return err
		}
		if err := visit(page.Keys, int64(page.Seen)); err != nil {
			return err
		}
	}
	return nil
}

// layout returns the layout version, which is empty if the database has not been adopted yet.
func (d Database) layout(ctx context.Context) (string, error) {
	return reply.TextOrEmpty(d.client.Do(ctx, d.client.B().Get().Key(storage.LayoutVersion).Build()))
}
