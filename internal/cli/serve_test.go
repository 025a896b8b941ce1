package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// untilListening ends a context when the line comes that says so.
type untilListening struct {
	bytes.Buffer
	stop func()
}

func (u *untilListening) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "listening on") {
		u.stop()
	}
	return u.Buffer.Write(p)
}

// A site that is told to stop ends well and leaves nothing behind.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &untilListening{stop: stop}
	var stderr bytes.Buffer
	code := Run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--redis", server.URL()},
		Env{Getenv: os.Getenv, Stdout: out, Stderr: &stderr})
	if code != exitOK || !strings.HasPrefix(out.String(), "retwis: listening on http://127.0.0.1:") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), stderr.String())
	}
}

// When one listener fails, the whole site ends, and says why.
func TestServeEndsWhenAListenerFails(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	service, err := social.New(redistest.DB(t).Client(t), social.Options{Logger: log})
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
	err = serveUntilTold(t.Context(), log, service, []serving{
		{good, &http.Server{ReadHeaderTimeout: grace}}, {bad, &http.Server{ReadHeaderTimeout: grace}},
	})
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "serve on "+bad.Addr().String()) {
		t.Errorf("serveUntilTold: %v", err)
	}
	// Not by dialling it: a server that another test starts just now has the
	// socket too, between fork and exec.
	if err := good.(*net.TCPListener).SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the other listener still listens: %v", err)
	}
}
