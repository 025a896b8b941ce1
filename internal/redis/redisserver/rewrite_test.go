package redisserver_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

// A transaction that a killed server left incomplete is truncated, so that a later server does not
// complete the transaction.
func TestTruncatedTransaction(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	opt := redisserver.Options{
		Dir:    shortDir(t),
		Config: []string{"appendonly yes", "appendfsync always", `save ""`},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	server, err := redisserver.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Kill()
	<-server.Done()
	files, err := filepath.Glob(filepath.Join(opt.Dir, "appendonlydir", "*.incr.aof"))
	if old := filepath.Join(opt.Dir, "appendonly.aof"); err == nil && len(files) == 0 {
		files = []string{old} // before Redis 7
	}
	if len(files) != 1 {
		t.Fatalf("append-only files: %v, %v", files, err)
	}
	file, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// A transaction with a truncated second command.
	if _, err := file.WriteString("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*1\r\n$5\r\nMULTI\r\n*3\r\n$5\r\nLPUSH\r\n$1\r\nl\r\n$4\r\nhalf\r\n*3\r\n$5\r\nLPU"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	var log logs
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for _, value := range []string{"one", "two"} {
		server, err = redisserver.Start(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if text := log.text(); strings.Count(text, `"bytes cut off"=`) != 1 || strings.Contains(text, `"bytes cut off"=0`) {
			t.Errorf("want one truncation in the log, got\n%s", text)
		}
		// The writes of a script are one transaction.
		do(t, server, `EVAL "redis.call('LPUSH','l',ARGV[1]) redis.call('LPUSH','m',ARGV[1])" 0 `+value)
		_ = server.Kill()
		<-server.Done()
	}
	server, err = redisserver.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(do(t, server, "LRANGE l 0 -1"), "\r\n", " ")
	if got != "*2 $3 two $3 one" {
		t.Errorf("LRANGE l = %q, want two and one", got)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
