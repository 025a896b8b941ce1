package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"retwis/internal/app"
	"retwis/internal/certificates"
)

// grace is how long requests in progress may take to finish after a stop.
const grace = 10 * time.Second

// serving is a server and its listener.
type serving struct {
	listener net.Listener
	server   *http.Server
	arrivals arrivals
	stopping atomic.Bool
	ended    chan struct{} // closed when serve has returned
}

func newServing(listener net.Listener, server *http.Server) *serving {
	s := &serving{listener: listener, server: server, ended: make(chan struct{})}
	s.arrivals.follow(server)
	return s
}

// serve serves until stop is called, over TLS if the server is configured for it.
func (s *serving) serve() (err error) {
	defer close(s.ended)
	if s.server.TLSConfig != nil {
		err = s.server.ServeTLS(s.listener, "", "")
	} else {
		err = s.server.Serve(s.listener)
	}
	if s.stopping.Load() {
		return nil
	}
	return err
}

// stop stops accepting connections and returns once all requests have been answered. When ctx ends,
// it closes the remaining connections and returns ctx's error.
func (s *serving) stop(ctx context.Context) error {
	s.stopping.Store(true)
	_ = s.listener.Close()
	<-s.ended
	s.arrivals.wait(ctx)
	err := s.server.Shutdown(ctx)
	if err != nil {
		_ = s.server.Close()
	}
	return err
}

// running is a site that is being served.
type running struct {
	log     *slog.Logger
	service *app.App
	servers []*serving

	drain      time.Duration         // how long to continue serving after a stop is requested
	draining   func()                // makes /readyz report that the site is stopping; may be nil
	background func(context.Context) // runs while the site is served; may be nil
}

func (r *running) add(listener net.Listener, server *http.Server, source certificates.Source) {
	if source != nil {
		server.TLSConfig = source.Config()
	}
	r.servers = append(r.servers, newServing(listener, server))
}

// untilDone serves until ctx is done, then returns nil, or until a server fails. All goroutines of
// untilDone have ended when it returns.
func (r *running) untilDone(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(r.servers))
	var wg sync.WaitGroup
	for _, s := range r.servers {
		wg.Go(func() {
			if err := s.serve(); err != nil {
				failed <- fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
			}
		})
	}
	wg.Go(func() { r.service.Maintain(ctx) })
	if r.background != nil {
		wg.Go(func() { r.background(ctx) })
	}
	watchdogCtx, stopWatchdog := context.WithCancel(context.Background())
	defer stopWatchdog()
	r.notify(daemon.SdNotifyReady)
	wg.Go(func() { r.watchdog(watchdogCtx) })
	var err error
	select {
	case <-ctx.Done():
		r.notify(daemon.SdNotifyStopping)
		err = r.waitForDrain(failed)
	case err = <-failed:
		stop()
	}
	shutDown(r.log, r.servers)
	stopWatchdog()
	wg.Wait()
	return err
}

// waitForDrain continues serving for r.drain, so that load balancers notice that the process is
// stopping.
func (r *running) waitForDrain(failed <-chan error) error {
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

// notify sends a state to systemd, if systemd has requested notifications.
func (r *running) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		r.log.Warn("cannot notify systemd", "error", err)
	}
}

// watchdog reports to systemd that the process is alive, twice as often as required.
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

// shutDown stops all servers concurrently.
func shutDown(log *slog.Logger, servers []*serving) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if err := s.stop(ctx); err != nil {
				log.Warn("requests were cut off", "addr", s.listener.Addr().String(), "after", grace.String())
			}
		})
	}
	wg.Wait()
}
