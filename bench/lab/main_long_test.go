//go:build long

package main

import (
	"bytes"
	"testing"
	"time"
)

// TestLab checks that Retwis keeps its guarantees under a few faults.
func TestLab(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := lab(t.Context(), options{
		program: program(t), length: 75 * time.Second, webs: 3, rest: 7 * time.Second, minReplicas: 1, log: testLog{t},
	}, "", &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
