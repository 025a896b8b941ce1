package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"retwis/bench/lab/network"
	"retwis/bench/measure"
)

// process is a retwis that serves. It keeps its address when it is started again.
type process struct {
	name    string
	program string
	args    []string
	url     string
	log     string
	net     *network.Network
	cmd     *exec.Cmd
	ended   chan struct{}
}

// web returns a process that serves the Cluster, which is not started yet. Its log is in dir.
func (c *cluster) web(program, dir string, i int, flags ...string) (*process, error) {
	port, err := measure.FreePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	return &process{
		name: fmt.Sprintf("web%d", i), program: program, url: "http://" + addr, net: c.net,
		args: append([]string{"serve", "--addr", addr, "--redis", c.url(), "--limit", "off", "--log-level", "warn"}, flags...),
		log:  filepath.Join(dir, fmt.Sprintf("web%d.log", i)),
	}, nil
}

// start starts the process and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes()
	p.ended = make(chan struct{})
	started := make(chan error)
	go func() { // the kernel ends a child with the thread that started it
		defer close(p.ended)
		unlock := lockThread()
		defer unlock()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.net.Process(p.name, p.cmd.Process.Pid)
	return p.ready(ctx)
}

// ready waits until the process reports that it is.
func (p *process) ready(ctx context.Context) error {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	err := wait(ctx, p.name+" to be ready", func() bool {
		select {
		case <-p.ended:
			return true
		default:
		}
		response, err := client.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: see %s", p.name, p.log)
	default:
		return err
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process at once.
func (p *process) kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
}
