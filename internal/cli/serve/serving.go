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

	"github.com/coreos/go-systemd/v22/daemon"

	"retwis/internal/certificates"
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

// serve serves, over TLS where the server is configured for it.
func (s serving) serve() error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(s.listener, "", "")
	}
	return s.server.Serve(s.listener)
}

// running is a site that is served.
type running struct {
	log     *slog.Logger
	service *social.Service
	servers []serving

	drain      time.Duration         // how long to go on serving when it is stopped
	draining   func()                // makes the site report that it stops; nil for nothing
	background func(context.Context) // runs once the site is served; nil for nothing
}

func (r *running) add(listener net.Listener, server *http.Server, source certificates.Source) {
	if source != nil {
		server.TLSConfig = source.Config()
	}
	r.servers = append(r.servers, serving{listener, server})
}

// untilDone serves until ctx is done, and then returns nil, or until a server fails. It
// returns when all goroutines have ended.
func (r *running) untilDone(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(r.servers))
	var wg sync.WaitGroup
	for _, s := range r.servers {
		wg.Go(func() {
			if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
				return
			}
			// shutDown does not know a connection that was accepted as it began.
			end, cancel := context.WithTimeout(context.Background(), grace)
			defer cancel()
			_ = s.server.Shutdown(end)
		})
	}
	wg.Go(func() {
		if err := r.service.RecoverFanOuts(ctx, resumeEvery); err != nil {
			r.log.Error("cannot finish interrupted posts", "error", err)
		}
	})
	if r.background != nil {
		wg.Go(func() { r.background(ctx) })
	}
	alive, dead := context.WithCancel(context.Background())
	defer dead()
	r.notify(daemon.SdNotifyReady)
	wg.Go(func() { r.watchdog(alive) })
	var err error
	select {
	case <-ctx.Done():
		r.notify(daemon.SdNotifyStopping)
		err = r.drained(failed)
	case err = <-failed:
		stop()
	}
	shutDown(r.log, r.servers)
	dead()
	wg.Wait()
	return err
}

// drained goes on serving for a while, in which load balancers see that it stops.
func (r *running) drained(failed <-chan error) error {
	if r.draining != nil {
		r.draining()
	}
	if r.drain > 0 {
		r.log.Info("stopping soon; no longer ready", "drain", r.drain.String())
		select {
		case <-time.After(r.drain):
		case err := <-failed:
			return err
		}
	}
	r.log.Info("stopping; requests in progress are answered first")
	return nil
}

// notify tells systemd about this process, if it wants to know.
func (r *running) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		r.log.Warn("cannot notify systemd", "error", err)
	}
}

// watchdog reports to systemd that the process is alive, twice as often as it asks for.
func (r *running) watchdog(ctx context.Context) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.notify(daemon.SdNotifyWatchdog)
		case <-ctx.Done():
			return
		}
	}
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
