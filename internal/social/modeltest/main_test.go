// Package modeltest compares Retwis with an in-memory model. People perform random actions in
// several processes, some of which are killed. Afterwards a check must find no problems, and every
// list must equal the list of the model for all viewers.
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
