package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pingEvery is the interval of PINGs during a load.
const pingEvery = 5 * time.Millisecond

// freePort finds a free port, low enough for the second port of a Cluster node, which
// is 10,000 higher.
func freePort() (int, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		defer l.Close() // when one is found, so that the next is another
		if port < 55_000 {
			return port, nil
		}
	}
}

// startPings sends PINGs until the returned function is called, which returns the p99 of
// their latency. Each is measured from the moment when it was due.
func startPings(port int) (stop func() (time.Duration, error)) {
	end, ended := make(chan struct{}), make(chan struct{})
	var all []time.Duration
	var failed error
	go func() {
		defer close(ended)
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			failed = err
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for due := time.Now(); ; due = due.Add(pingEvery) {
			select {
			case <-end:
				return
			case <-time.After(time.Until(due)):
			}
			if _, err := c.Write([]byte("PING\r\n")); err != nil {
				failed = err
				return
			}
			answer, err := in.ReadString('\n')
			if err == nil && answer != "+PONG\r\n" {
				err = fmt.Errorf("%q", answer)
			}
			if err != nil {
				failed = err
				return
			}
			all = append(all, time.Since(due))
		}
	}()
	return func() (time.Duration, error) {
		close(end)
		<-ended
		if failed == nil && len(all) == 0 {
			failed = errors.New("no PING was sent")
		}
		if failed != nil {
			return 0, fmt.Errorf("PING: %w", failed)
		}
		slices.Sort(all)
		return all[len(all)*99/100], nil
	}
}

// watchMemory polls the peak memory of a process, in MiB, until the returned function is
// called. After its end, the system's figure would include the memory of its parent.
func watchMemory(pid int) (stop func() float64) {
	end, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		for {
			status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok && err == nil {
				kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				most = max(most, kib/1024)
			}
			select {
			case <-end:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(end)
		return <-peak
	}
}
