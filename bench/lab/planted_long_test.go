//go:build long

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/bench/measure"
	"retwis/bench/mutants/fault"
)

// TestPlantedInProgram checks that the lab detects each fault planted in the program, and reports
// none without a planted fault.
func TestPlantedInProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := fault.Overlay(root, dir, fault.All)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := measure.Build(t.Context(), dir, "-overlay="+overlay)
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, 2) // at most two labs run at a time
	control := fault.Fault{What: "nothing is planted", Lab: true, Breaks: []string{"kill all webs", "lagging master"}}
	for _, f := range append(slices.Clone(fault.All), control) {
		if !f.Lab {
			continue
		}
		t.Run("plant="+f.Name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			program := filepath.Join(t.TempDir(), "retwis")
			script := "#!/bin/sh\n" + fault.Variable + "=" + f.Name + " exec " + binary + " \"$@\"\n"
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			opt := options{
				program: program, length: 20 * time.Second, seed: 5, webs: 2,
				minReplicas: 1, noFaults: len(f.Breaks) == 0, only: f.Breaks, log: testLog{t},
			}
			if !opt.noFaults {
				opt.length, opt.rest = 60*time.Second, 3*time.Second
			}
			if f.Name == "skipwait" { // with min-replicas, a master without a replica refuses most writes
				opt.minReplicas = 0
			}
			r, err := run(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			if r.History != "" {
				defer os.RemoveAll(filepath.Dir(r.History))
			}
			var out strings.Builder
			r.print(&out)
			if r.passed() != (f.Name == "") {
				t.Errorf("%s: passed = %v, want %v\n%s", f.What, r.passed(), f.Name == "", out.String())
			}
			t.Logf("%s: %v", f.What, r.Failures)
		})
	}
}
