//go:build long

package main

import (
	"bytes"
	"testing"
	"time"
)

// Retwis keeps its promises through every kind of fault. A short run has a fault or two.
func TestLab(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := lab(t.Context(), options{
		program: program(t), length: 75 * time.Second, webs: 3, rest: 7 * time.Second, minReplicas: 1, log: logOf{t},
	}, "", &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
