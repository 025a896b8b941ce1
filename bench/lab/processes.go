package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"retwis/bench/lab/network"
	"retwis/bench/measure"
)

// process is a "retwis serve" process. A restart keeps its address.
type process struct {
	*measure.Program
	name    string
	command []string
	url     string
	log     string
	net     *network.Network
}

// web returns a web process for the Cluster, without starting it. Its log is in dir.
func (c *cluster) web(program, dir string, i int, flags ...string) (*process, error) {
	port, err := measure.FreePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	return &process{
		name: fmt.Sprintf("web%d", i), url: "http://" + addr, log: filepath.Join(dir, fmt.Sprintf("web%d.log", i)), net: c.net,
		command: append([]string{program, "serve", "--addr", addr, "--redis", c.url(), "--limit", "off", "--log-level", "warn"}, flags...),
	}, nil
}

// start starts the process and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if p.Program, err = measure.Start(cmd); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.net.Process(p.name, p.Pid())
	return p.waitReady(ctx)
}

// waitReady waits until the process reports that it is ready.
func (p *process) waitReady(ctx context.Context) error {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func(exited <-chan struct{}) {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}(p.Exited)
	return wait(ctx, p.name+" to be ready: see "+p.log, func() bool {
		response, err := client.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}
