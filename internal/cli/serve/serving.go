package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"retwis/internal/social"
)

const (
	// grace is how long requests in progress may take to end.
	grace = 10 * time.Second
	// resumeEvery is how often to look for posts that a process did not finish
	// before it died.
	resumeEvery = time.Minute
)

// serving is a server and its listener.
type serving struct {
	listener net.Listener
	server   *http.Server
}

// serveUntilDone serves until ctx is done, and then returns nil, or until a server
// fails. It returns when all goroutines have ended.
func serveUntilDone(ctx context.Context, log *slog.Logger, service *social.Service, servers []serving) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(servers))
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
			}
		})
	}
	wg.Go(func() {
		if err := service.RecoverFanOuts(ctx, resumeEvery); err != nil {
			log.Error("cannot finish interrupted posts", "error", err)
		}
	})
	var err error
	select {
	case <-ctx.Done():
		log.Info("stopping; requests in progress are answered first")
	case err = <-failed:
		stop()
	}
	shutDown(log, servers)
	wg.Wait()
	return err
}

// shutDown stops all servers at once: it takes no new requests, waits for those in
// progress, and cuts off those that take too long.
func shutDown(log *slog.Logger, servers []serving) {
	end, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if err := s.server.Shutdown(end); err != nil {
				log.Warn("requests were cut off", "addr", s.listener.Addr().String(), "after", grace.String())
				_ = s.server.Close()
			}
		})
	}
	wg.Wait()
}
