// Package modeltest compares Retwis with an in-memory model of it: random people act at random, in
// several processes that are killed in between. Afterwards a check finds nothing, and every list
// that anybody sees equals that of the model.
package modeltest

import (
	"os"
	"testing"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(processEnv); url != "" {
		actForever(url)
	}
	redistest.Main(m)
}
