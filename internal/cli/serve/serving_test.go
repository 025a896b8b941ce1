package serve

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// If one listener fails, the whole site ends and reports the error.
func TestServeEndsWhenAListenerFails(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	service, err := app.New(redistest.DB(t).Client(t), app.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	}()
	good, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bad.Close()
	err = (&running{log: log, service: service, servers: []*serving{
		newServing(good, &http.Server{ReadHeaderTimeout: grace}), newServing(bad, &http.Server{ReadHeaderTimeout: grace}),
	}}).untilDone(t.Context())
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "serve on "+bad.Addr().String()) {
		t.Errorf("untilDone: %v", err)
	}
	// Dialing may still succeed: between fork and exec, a server that another test is starting
	// holds the socket, too.
	if err := good.(*net.TCPListener).SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the other listener is still open: %v", err)
	}
}
