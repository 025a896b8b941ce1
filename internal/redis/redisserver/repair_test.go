package redisserver_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

// diagnose diagnoses a directory.
func diagnose(t *testing.T, dir string) (*redisserver.Diagnosis, error) {
	t.Helper()
	return redisserver.Diagnose(t.Context(), os.Getenv, dir)
}

// repair copies a directory, repairs it, and returns how many keys it has.
func repair(t *testing.T, d *redisserver.Diagnosis) (keys int64, whole bool) {
	t.Helper()
	if _, err := d.Copy(filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Fatal(err)
	}
	keys, whole, err := d.Repair(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	return keys, whole
}

// hundredKeys makes a data directory with 100 keys, and says how many bytes
// follow the first 60.
func hundredKeys(t *testing.T) (opt redisserver.Options, last string, size, at60 int64) {
	t.Helper()
	opt = filled(t)
	s := start(t, opt)
	for i := range 100 {
		if i == 60 {
			at60 = fileSize(t, lastPart(t, opt.Dir))
		}
		do(t, s, fmt.Sprintf("SET key%d value", i))
	}
	_ = s.Kill()
	<-s.Done()
	last = lastPart(t, opt.Dir)
	return opt, last, fileSize(t, last), at60
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// What a crash or a bad disk leaves is cut off, and reported; everything before
// it is there, the copy is as it was, and the server starts again.
func TestRepair(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	for name, test := range map[string]struct {
		damage   func(t *testing.T, path string, at60 int64)
		problem  string
		commands int64
		keys     int64
	}{
		"zeros":          {func(t *testing.T, path string, _ int64) { appendTo(t, path, strings.Repeat("\x00", 100_000)) }, "zeros from byte", 0, 101},
		"garbage":        {func(t *testing.T, path string, _ int64) { appendTo(t, path, "\r\nrubbish") }, "damaged or incomplete from byte", 0, 101},
		"half a command": {func(t *testing.T, path string, _ int64) { appendTo(t, path, "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$9\r\nhal") }, "damaged or incomplete", 1, 101},
		"damaged middle": {damageAt60, "damaged or incomplete from byte", 39, 61},
		"two transactions": {func(t *testing.T, path string, _ int64) {
			appendTo(t, path, "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\ny\r\n")
		}, "damaged or incomplete", 2, 101},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt, last, size, at60 := hundredKeys(t)
			test.damage(t, last, at60)
			damaged, err := os.ReadFile(last)
			if err != nil {
				t.Fatal(err)
			}
			d, err := diagnose(t, opt.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Findings) != 1 || !strings.Contains(d.Findings[0].Problem, test.problem) || d.Findings[0].Commands != test.commands {
				t.Fatalf("findings = %+v", d.Findings)
			}
			if f := d.Findings[0]; f.Size != int64(len(damaged)) || test.keys == 101 && f.Cut != int64(len(damaged))-size {
				t.Errorf("finding = %+v of %d bytes, %d of which were appended", f, len(damaged), int64(len(damaged))-size)
			}
			copied := filepath.Join(t.TempDir(), "copy")
			if _, err := d.Copy(copied); err != nil {
				t.Fatal(err)
			}
			keys, _, err := d.Repair(t.Context(), quiet)
			if err != nil || keys != test.keys {
				t.Errorf("Repair: %d keys (%v), want %d", keys, err, test.keys)
			}
			name, _ := filepath.Rel(opt.Dir, last)
			if kept, err := os.ReadFile(filepath.Join(copied, name)); err != nil || !slices.Equal(kept, damaged) {
				t.Errorf("the copy is not what was there (%v)", err)
			}
			if d, err = diagnose(t, opt.Dir); err != nil || !d.Healthy() {
				t.Errorf("after the repair: %+v, %v", d, err)
			}
			if got := do(t, start(t, opt), "GET key59"); got != "value" {
				t.Errorf("key59 = %q", got)
			}
		})
	}
}

// damageAt60 makes the length of a word unreadable.
func damageAt60(t *testing.T, path string, at60 int64) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("#!"), at60); err != nil {
		t.Fatal(err)
	}
}

// Damage that the server overlooks costs nothing.
func TestRepairOverlooked(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	opt, last, size, _ := hundredKeys(t)
	file, err := os.OpenFile(last, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The end of the line after the last value, which servers do not look at.
	if _, err := file.WriteAt([]byte("XX"), size-2); err != nil {
		t.Fatal(err)
	}
	file.Close()
	d, err := diagnose(t, opt.Dir)
	if err != nil || d.Healthy() {
		t.Fatalf("Diagnose = %+v, %v", d, err)
	}
	if keys, whole := repair(t, d); keys != 101 || !whole {
		t.Errorf("%d keys, whole: %v", keys, whole)
	}
	if d, err = diagnose(t, opt.Dir); err != nil || !d.Healthy() {
		t.Errorf("after the repair: %+v, %v", d, err)
	}
}

// A lost manifest is made of the names of the parts; parts that are missing end
// the data.
func TestRepairParts(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	if !multiPart(filled(t)) {
		return // before Redis 7 there are no parts
	}
	remove := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			paths, err := filepath.Glob(filepath.Join(dir, "appendonlydir", pattern))
			if err != nil || len(paths) != 1 {
				t.Fatalf("%s: %q, %v", pattern, paths, err)
			}
			if err := os.Remove(paths[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		keys   int64
		is     error
	}{
		"no manifest":       {remove("*.manifest"), 101, nil},
		"an empty manifest": {func(t *testing.T, dir string) { write(t, dir, "appendonlydir/appendonly.aof.manifest", "") }, 101, nil},
		"no increment":      {remove("*.incr.aof"), 0, nil},
		"no base":           {remove("*.base.rdb"), 0, redisserver.ErrBeyondRepair},
		"a damaged base": {func(t *testing.T, dir string) {
			write(t, dir, "appendonlydir/appendonly.aof.1.base.rdb", rdb9+"\x00\x00\x00\x00")
		}, 0, redisserver.ErrBeyondRepair},
		"two bases": {func(t *testing.T, dir string) {
			remove("*.manifest")(t, dir)
			write(t, dir, "appendonlydir/appendonly.aof.2.base.rdb", rdb9)
		}, 0, redisserver.ErrBeyondRepair},
		"parts after the damage": {func(t *testing.T, dir string) {
			appendTo(t, lastPart(t, dir), "rubbish")
			write(t, dir, "appendonlydir/appendonly.aof.2.incr.aof", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\ny\r\n")
			appendTo(t, filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest"), "file appendonly.aof.2.incr.aof seq 2 type i\n")
		}, 101, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt, _, _, _ := hundredKeys(t)
			test.damage(t, opt.Dir)
			if _, err := redisserver.Start(t.Context(), opt); err == nil {
				t.Fatal("the server starts on a damaged directory")
			}
			d, err := diagnose(t, opt.Dir)
			if !errors.Is(err, test.is) || d.Healthy() {
				t.Fatalf("Diagnose = %+v, %v, want %v", d, err, test.is)
			}
			if test.is != nil {
				return
			}
			if keys, _ := repair(t, d); keys != test.keys {
				t.Errorf("%d keys, want %d; findings %+v", keys, test.keys, d.Findings)
			}
			if got := do(t, start(t, opt), "DBSIZE"); got != fmt.Sprintf(":%d", test.keys) {
				t.Errorf("DBSIZE = %s", got)
			}
		})
	}
}

// A snapshot becomes an append-only file.
func TestRepairSnapshot(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	opt := redisserver.Options{Dir: shortDir(t), Config: []string{"appendonly no"}, Logger: quiet}
	s := start(t, opt)
	do(t, s, "SET k v")
	do(t, s, "SAVE")
	_ = s.Kill()
	<-s.Done()
	opt.Config = appendOnly
	if _, err := redisserver.Start(t.Context(), opt); !errors.Is(err, redisserver.ErrUnreadable) {
		t.Fatalf("Start = %v, want ErrUnreadable", err)
	}
	d, err := diagnose(t, opt.Dir)
	if err != nil || d.Healthy() {
		t.Fatalf("Diagnose = %+v, %v", d, err)
	}
	if keys, _ := repair(t, d); keys != 1 {
		t.Errorf("%d keys, want 1", keys)
	}
	if got := do(t, start(t, opt), "GET k"); got != "v" {
		t.Errorf("k = %q", got)
	}

	bad := shortDir(t)
	write(t, bad, "dump.rdb", rdb9+"\x00\x00\x00\x00")
	if _, err := diagnose(t, bad); !errors.Is(err, redisserver.ErrBeyondRepair) {
		t.Errorf("a damaged snapshot: %v, want ErrBeyondRepair", err)
	}
}

// Nothing is repaired that only another version can read, and nothing is written
// over.
func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	opt := filled(t)
	d, err := diagnose(t, opt.Dir)
	if err != nil || !d.Healthy() {
		t.Errorf("a whole directory: %+v, %v", d, err)
	}
	if _, err := d.Copy(t.TempDir()); !errors.Is(err, os.ErrExist) {
		t.Errorf("a copy over a directory: %v", err)
	}
	dir := shortDir(t)
	write(t, dir, "appendonlydir/appendonly.aof.manifest", manifest)
	write(t, dir, "appendonlydir/appendonly.aof.1.base.rdb", valkey80)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=diagnose", "DIR="+dir,
		"RETWIS_REDIS_SERVER="+says(t, t.TempDir(), "redis-server", "Redis server v=7.0.15 sha=0"))
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "Valkey 9.0 or newer") {
		t.Errorf("a newer server's data: %s (%v)", out, err)
	}
	if _, err := diagnose(t, filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// A script that starts the server is no checking tool: the tool is looked for
// on PATH.
func TestRepairByScript(t *testing.T) {
	t.Parallel()
	binary := redistest.Require(t)
	opt := filled(t)
	tool, bin := "redis-check-aof", t.TempDir()
	if out, err := exec.Command(binary, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "Redis") {
		tool = "valkey-check-aof"
	}
	script := filepath.Join(t.TempDir(), "start")
	writeProgram(t, script, "#!/bin/sh\nexec "+binary+" \"$@\"\n")
	for name, test := range map[string]struct{ path, want string }{
		"without it": {bin, tool + ", which checks the files, is neither " + script + " nor on PATH"},
		"with it":    {t.TempDir(), "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.want == "<nil>" {
				if err := os.Symlink(binary, filepath.Join(test.path, tool)); err != nil {
					t.Fatal(err)
				}
			}
			child := exec.Command(os.Args[0])
			child.Env = []string{childEnv + "=diagnose", "PATH=" + test.path, "RETWIS_REDIS_SERVER=" + script, "DIR=" + opt.Dir}
			if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%s (%v), want %s", out, err, test.want)
			}
		})
	}
}
