// Package redisserver runs a real Redis or Valkey server as a child process.
//
// A program that keeps its data in Redis needs a server for users on a laptop and for its tests,
// without a manual setup. [Start] finds the installed server, starts it on a unix socket in a private
// directory, and returns once the server answers. On Linux, the server ends with its parent, even if
// the parent is killed.
package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"retwis/internal/owner"
)

// Options configure a server. Dir is required.
type Options struct {
	// Dir is the data directory. It is created with mode 0700.
	Dir string
	// Socket is the path of the unix socket. Default: SocketPath(Dir).
	Socket string
	// Port is a TCP port on 127.0.0.1; 0 means none.
	Port int
	// Config holds additional lines of redis.conf, such as "appendonly yes". The server reads its
	// configuration from standard input, so that secrets do not show in the process list.
	Config []string
	// Binary is the server program. Default: the result of FindFor.
	Binary string
	// Logger receives the server's own log. Default: slog.Default().
	Logger *slog.Logger
	// ExtraFiles are inherited by the server and stay open as long as the server lives; for
	// example, a lock on its directory.
	ExtraFiles []*os.File
	// LoadingEvery is how often Start logs that it waits for a large data set. Default: 5 s.
	LoadingEvery time.Duration
	// Sentinel runs a sentinel instead of a server. The sentinel rewrites its configuration in Dir.
	Sentinel bool
	// DeathSignal is the signal that the server receives when this process dies first (on Linux).
	// Default: SIGTERM, on which the server saves its data.
	DeathSignal syscall.Signal

	owner owner.Owner // user that the server runs as
}

// Server is a running server.
type Server struct {
	cmd     *exec.Cmd
	socket  string
	port    int
	done    chan struct{}
	err     error // why the server exited; valid once done is closed
	tail    *tail
	logged  chan struct{} // closed once the log has been read to its end
	running atomic.Bool   // the server is running and was not told to stop

	dir    string
	before struct {
		name string
		size int64
	} // the file to which the server appends, before the start
	cut       atomic.Bool            // the server found its append-only file truncated
	damage    atomic.Pointer[string] // the first log message about files that cannot be loaded
	accepting chan struct{}          // closed once the server has logged that it accepts connections
	once      sync.Once              // closes accepting
}

// Start starts a server and waits until it answers. It rejects a server older than 6.2, and a
// server that would not find or could not read the data in Dir: see ErrUnreadable and ErrDamaged.
// If ctx ends first, Start kills the server.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if err := opt.prepare(ctx); err != nil {
		return nil, err
	}
	s := &Server{
		socket: opt.Socket, port: opt.Port, dir: opt.Dir, tail: &tail{},
		done: make(chan struct{}), logged: make(chan struct{}), accepting: make(chan struct{}),
	}
	if slices.Contains(opt.Config, "appendonly yes") {
		s.before.name, s.before.size = lastFile(opt.Dir)
	}
	if err := s.run(opt); err != nil {
		return nil, err
	}
	err := s.ready(ctx, opt)
	if err == nil {
		err = s.rewriteTruncated(ctx, opt)
	}
	if err != nil {
		_ = s.Kill()
		<-s.done
		return nil, err
	}
	s.running.Store(true)
	return s, nil
}

func (o *Options) prepare(ctx context.Context) error {
	if o.Dir == "" {
		return errors.New("redisserver: Options.Dir is empty")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.LoadingEvery <= 0 {
		o.LoadingEvery = 5 * time.Second
	}
	if o.DeathSignal == 0 {
		o.DeathSignal = syscall.SIGTERM
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("redisserver: create the data directory: %w", err)
	}
	if o.owner, err = owner.Of(o.Dir); err != nil {
		return err
	}
	if o.Socket == "" {
		if o.Socket, err = SocketPath(o.Dir); err != nil {
			return err
		}
	}
	if o.Binary == "" {
		if o.Binary, err = FindFor(ctx, os.Getenv, o.Dir); err != nil {
			return err
		}
	}
	p, err := identify(ctx, o.Binary)
	if err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	if TooOld(p.version) {
		return fmt.Errorf("redisserver: %s is version %s; %s or newer is needed", p.path, p.version, oldest)
	}
	if o.Sentinel {
		return nil
	}
	data, err := readDataDir(o.Dir)
	if err != nil {
		return err
	}
	return data.check(p, slices.Contains(o.Config, "appendonly yes"))
}

// config returns the configuration file of the server.
func (o *Options) config() string {
	lines := []string{
		fmt.Sprintf("port %d", o.Port),
		"bind 127.0.0.1",
		"unixsocket " + quote(o.Socket),
		"unixsocketperm 700",
		"dir " + quote(o.Dir),
		"daemonize no",
		"logfile \"\"",
		"tcp-backlog 128",
	}
	return strings.Join(append(lines, o.Config...), "\n") + "\n"
}

// quote quotes a value for redis.conf.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// run starts the process.
func (s *Server) run(opt Options) error {
	s.cmd = exec.Command(opt.Binary, "-")
	s.cmd.Stdin = strings.NewReader(opt.config())
	if opt.Sentinel {
		path := filepath.Join(opt.Dir, "sentinel.conf")
		if err := os.WriteFile(path, []byte(opt.config()), 0o600); err != nil {
			return fmt.Errorf("redisserver: %w", err)
		}
		s.cmd = exec.Command(opt.Binary, path, "--sentinel")
	}
	s.cmd.Dir = opt.Dir
	s.cmd.ExtraFiles = opt.ExtraFiles
	s.cmd.SysProcAttr = attributes(opt.DeathSignal)
	s.cmd.SysProcAttr.Credential = opt.owner.Credential()
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	s.cmd.Stdout, s.cmd.Stderr = write, write
	go s.log(read, opt.Logger)
	started := make(chan error)
	go s.supervise(started)
	err = <-started
	write.Close()
	if err != nil {
		<-s.logged
		if opt.owner.Another() && errors.Is(err, syscall.EPERM) {
			return opt.owner.Refuse() // root without the capability CAP_SETUID
		}
		return fmt.Errorf("redisserver: start %s: %w", opt.Binary, err)
	}
	return nil
}

// logTimeout is how long to wait for the rest of the log of a server that has exited.
const logTimeout = 200 * time.Millisecond

// supervise starts the process and waits for its end on the same thread: Linux sends the death
// signal when the thread that forked the child ends.
func (s *Server) supervise(started chan<- error) {
	unlock := lockThread()
	defer unlock()
	if err := s.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	err := s.cmd.Wait()
	select {
	case <-s.logged:
	case <-time.After(logTimeout): // a child of the server still holds the pipe
	}
	switch line := s.damage.Load(); {
	case line != nil:
		s.err = damaged(s.dir, s.cmd.Path, *line)
	case err != nil:
		s.err = fmt.Errorf("redisserver: the server ended: %w%s", err, s.tail.text())
	default:
		s.err = errors.New("redisserver: the server ended" + s.tail.text())
	}
	close(s.done)
}

// ready waits until the server answers, and occasionally logs that it waits for a large data set.
func (s *Server) ready(ctx context.Context, opt Options) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	began, lastLog := time.Now(), time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("redisserver: the server does not answer yet: %w%s", ctx.Err(), s.tail.text())
		case <-s.done:
			return s.err
		case <-pause.C:
		}
		answer, _ := s.ask("PING")
		if bytes.HasPrefix(answer, []byte("+PONG")) || bytes.HasPrefix(answer, []byte("-NOAUTH")) {
			return nil
		}
		if time.Since(lastLog) >= opt.LoadingEvery {
			lastLog = time.Now()
			state := "waiting for the server to answer"
			if bytes.HasPrefix(answer, []byte("-LOADING")) {
				state = "the server is loading its data"
			}
			opt.Logger.Info(state, "since", time.Since(began).Round(time.Second).String())
		}
		pause.Reset(wait)
	}
}

// ask sends one command and returns the reply.
func (s *Server) ask(command string) ([]byte, error) {
	conn, err := net.DialTimeout("unix", s.socket, time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err
	}
	answer := make([]byte, 16<<10)
	n, err := conn.Read(answer)
	return answer[:n], err
}

// Socket returns the path of the unix socket.
func (s *Server) Socket() string { return s.socket }

// Port returns the TCP port, or 0 if there is none.
func (s *Server) Port() int { return s.port }

// Pid returns the process ID.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// URL returns the URL of the socket for internal/redis/store.
func (s *Server) URL() string { return "unix://" + s.socket }

// Done returns a channel that is closed when the process has exited.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the process exited. It is valid after Done.
func (s *Server) Err() error {
	<-s.done
	return s.err
}

// Stop makes the server save its data and exit, and waits until it has exited. If ctx ends first,
// Stop kills the server and returns an error.
func (s *Server) Stop(ctx context.Context) error {
	s.running.Store(false)
	_ = s.Thaw()
	retry := time.NewTicker(stopRetry)
	defer retry.Stop()
	for {
		// On SIGTERM a server saves as on SHUTDOWN, but without a password. The signal is repeated,
		// because a server ignores it while writing its first append-only file.
		if err := s.signal(syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-s.done:
			return nil
		case <-retry.C:
		case <-ctx.Done():
			_ = s.Kill()
			<-s.done
			return fmt.Errorf("redisserver: the server did not stop in time and was killed: %w", ctx.Err())
		}
	}
}

// stopRetry is how long to wait before repeating the stop signal.
const stopRetry = 500 * time.Millisecond

// Kill ends the server immediately, without saving.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL) }

// Freeze suspends the process; its connections stay open and get no replies.
func (s *Server) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen process.
func (s *Server) Thaw() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	err := s.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("redisserver: signal the server: %w", err)
	}
	return nil
}
