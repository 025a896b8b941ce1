package ratelimit_test

import (
	"os"
	"testing"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(writerURL); url != "" {
		write(url)
		return
	}
	redistest.Main(m)
}
