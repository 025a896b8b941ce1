//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/bench/lab/check"
	"retwis/bench/mutants/fault"
)

// The lab finds each fault that is planted in the program.
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
	binary := filepath.Join(dir, "retwis")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "./cmd/retwis")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build retwis: %v\n%s", err, out)
	}
	two := make(chan struct{}, 2) // at a time
	none := fault.Fault{What: "nothing is planted", Lab: true, Breaks: []string{"lose queue", "lagging master"}}
	for _, f := range append(slices.Clone(fault.All), none) {
		if !f.Lab {
			continue
		}
		t.Run("plant="+f.Name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			program := filepath.Join(t.TempDir(), "retwis")
			script := "#!/bin/sh\n" + fault.Variable + "=" + f.Name + " exec " + binary + " \"$@\"\n"
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			opt := options{
				program: program, length: 20 * time.Second, seed: 5, webs: 2, people: 8, followers: 2500, celebrity: 2600, rate: 20, rest: time.Second,
				minReplicas: 1, noFaults: len(f.Breaks) == 0, only: f.Breaks, bounds: check.Default, log: logOf{t}, history: filepath.Join(t.TempDir(), "history"),
			}
			if !opt.noFaults {
				opt.length, opt.rest = 60*time.Second, 3*time.Second
			}
			if f.Name == "skipwait" { // otherwise a master without a replica acknowledges too little
				opt.minReplicas = 0
			}
			r, err := run(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			r.print(&out)
			if r.Passed != (f.Name == "") {
				t.Errorf("%s: passed is %v\n%s", f.What, r.Passed, out.String())
			}
			t.Logf("%s: %v", f.What, r.Failures)
		})
	}
}
