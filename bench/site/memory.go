package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// memoryMode is the first argument of the process that serves from memory.
const memoryMode = "answer-from-memory"

// Child runs one of the processes that the measurements start, if args name one.
func Child(ctx context.Context, args []string) (isChild bool, err error) {
	if len(args) != 2 {
		return false, nil
	}
	switch args[0] {
	case memoryMode:
		return true, serveMemory(ctx, args[1])
	case openPagesMode:
		return true, servePages(ctx, args[1], os.Stdin, os.Stdout)
	}
	return false, nil
}

// serveMemory serves the files of a directory, as fast as net/http can.
func serveMemory(ctx context.Context, dir string) error {
	mux := http.NewServeMux()
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		body, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		mux.HandleFunc("GET /"+file.Name(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		})
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(listener)
}
