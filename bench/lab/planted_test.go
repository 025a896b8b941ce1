package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"retwis/bench/lab/check"
	"retwis/internal/redistest"
)

// A planted fault is one in the program itself: code is put in where it stands below. The
// source does not change, only what is compiled: see -overlay of go build.
type planted struct {
	name, what string
	file       string
	before     string // this line
	code       string
	only       []string // the faults of the lab that it needs; without them, there are none
}

var inProgram = []planted{
	{
		name: "skipwait", what: "nobody waits for replicas", file: "internal/social/task/confirm.go",
		before: "\t\tcase w.Masters != now.identity:\n", code: "\t\tcase plant.On(\"skipwait\"):\n\t\t\tconfirmed = append(confirmed, w)\n",
		only: []string{"lagging master"},
	},
	{
		name: "ackfirst", what: "a job is acknowledged before it is done", file: "internal/jobs/work.go",
		before: "\t\tdone, err = w.do(h.ctx, h.job)\n", code: "\t\tif plant.On(\"ackfirst\") {\n\t\t\tw.remove(h)\n\t\t\t_, _ = w.do(w.ctx, h.job)\n\t\t\tw.leaveSlot()\n\t\t\treturn\n\t\t}\n",
		only: []string{"lose queue", "kill web"},
	},
	{
		name: "wrongkey", what: "some lists are written elsewhere", file: "internal/social/fanout/write.go",
		before: "\tif job.toAuthor {\n", code: "\tfor i := range keys {\n\t\tif plant.On(\"wrongkey\") && keys[i][len(keys[i])-1] == '5' {\n\t\t\tkeys[i] += \"0\"\n\t\t}\n\t}\n",
	},
	{
		name: "noclear", what: "an unfollow clears nothing", file: "internal/social/fanout/home.go",
		before: "\t\t\t\terr = h.timelines.clear(ctx, from, to)\n", code: "\t\t\t\tif plant.On(\"noclear\") {\n\t\t\t\t\treturn nil\n\t\t\t\t}\n",
	},
	{
		name: "stalehead", what: "the latest posts of a merged author are never read again", file: "internal/social/home/merge.go",
		before: "\t\tif all[i] = h; ok && !fresh && h.first == first[a.id] {\n", code: "\t\tif old := a.head.Latest(); plant.On(\"stalehead\") && old != nil && !a.head.IsForced() {\n\t\t\th, ok = old, true\n\t\t}\n",
	},
	{
		name: "ledgerfirst", what: "a task leaves its ledger before it is done", file: "internal/social/task/engine.go",
		before: "\tif err := run(ctx); err != nil {\n", code: "\tif plant.On(\"ledgerfirst\") {\n\t\t_ = e.ledger.Forget(ctx, member)\n\t}\n",
		only: []string{"lose queue"},
	},
	{
		name: "losesegment", what: "the last segment of an audience is not noted", file: "internal/social/fanout/segment.go",
		before: "\treturn members, g.tasks.Note(ctx, members...)\n", code: "\tif plant.On(\"losesegment\") && short == pushKind {\n\t\tif members = members[:len(members)-1]; len(members) == 0 {\n\t\t\treturn nil, nil\n\t\t}\n\t}\n",
	},
	{
		name: "blockends", what: "a block ends no follow", file: "internal/social/fanout/blocks.go",
		before: "\tuntil, err := h.blockedUntil(ctx, from, to)\n\tif err != nil {\n", code: "\tif plant.On(\"blockends\") {\n\t\treturn nil\n\t}\n",
	},
	{
		name: "celebdelete", what: "a deletion leaves the entry on the profile of a merged author", file: "internal/social/fanout/delete.go",
		before: "\tfor _, tag := range s.tags {\n\t\tcmds = append(cmds, b.Zrem()", code: "\tif plant.On(\"celebdelete\") {\n\t\tif merged, _ := d.writer.isMerged(ctx, s); merged {\n\t\t\tcmds = cmds[1:]\n\t\t}\n\t}\n",
	},
	{
		name: "celeblost", what: "posts count as merged and their author does not", file: "internal/social/storage/celebrities.go",
		before: "\tif !isNew || followers <= s.above {\n", code: "\tif plant.On(\"celeblost\") && isNew && post%3 == 0 {\n\t\treturn true, nil\n\t}\n",
	},
}

// withPlants returns the files of the program with the planted faults, by their names.
func withPlants(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"internal/plant/plant.go": "// Package plant is a test's.\npackage plant\n\nimport \"os\"\n\nvar is = os.Getenv(\"LAB_PLANT\")\n\nfunc On(name string) bool { return is == name }\n"}
	for _, p := range inProgram {
		if files[p.file] == "" {
			source, err := os.ReadFile(filepath.Join("../..", p.file))
			if err != nil {
				t.Fatal(err)
			}
			files[p.file] = strings.Replace(string(source), "import (\n", "import (\n\t\"retwis/internal/plant\"\n", 1)
		}
		if n := strings.Count(files[p.file], p.before); n != 1 {
			t.Errorf("%s cannot be planted: %s has the line %d times:\n%s", p.name, p.file, n, p.before)
		}
		files[p.file] = strings.Replace(files[p.file], p.before, p.code+p.before, 1)
	}
	return files
}

// The places where faults are planted are still there. TestPlantedInProgram, which takes
// minutes, finds the faults.
func TestPlantsFit(t *testing.T) {
	t.Parallel()
	withPlants(t)
}

// The lab finds each fault that is planted in the program.
func TestPlantedInProgram(t *testing.T) {
	t.Parallel()
	if !redistest.Long {
		return // it takes minutes: make test-long
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, source := range withPlants(t) {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, name)] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "retwis")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "./cmd/retwis")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build retwis: %v\n%s", err, out)
	}
	two := make(chan struct{}, 2) // at a time
	for _, p := range append(inProgram, planted{what: "nothing is planted", only: []string{"lose queue", "lagging master"}}) {
		t.Run("plant="+p.name, func(t *testing.T) {
			t.Parallel()
			two <- struct{}{}
			defer func() { <-two }()
			program := filepath.Join(t.TempDir(), "retwis")
			script := "#!/bin/sh\nLAB_PLANT=" + p.name + " exec " + binary + " \"$@\"\n"
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			opt := options{
				program: program, length: 20 * time.Second, seed: 5, webs: 2, people: 8, followers: 2500, celebrity: 2600, rate: 20, rest: time.Second,
				minReplicas: 1, noFaults: len(p.only) == 0, only: p.only, bounds: check.Default, log: logOf{t}, history: filepath.Join(t.TempDir(), "history"),
			}
			if !opt.noFaults {
				opt.length, opt.rest = 60*time.Second, 3*time.Second
			}
			if p.name == "skipwait" { // otherwise a master without a replica acknowledges too little
				opt.minReplicas = 0
			}
			r, err := run(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			r.print(&out)
			if r.Passed != (p.name == "") {
				t.Errorf("%s: passed is %v\n%s", p.what, r.Passed, out.String())
			}
			t.Logf("%s: %v", p.what, r.Failures)
		})
	}
}
