package redisserver_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

// write writes a file in a data directory.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Headers of snapshots as servers write them.
const (
	rdb9      = "REDIS0009\xfa\x09redis-ver\x066.2.16\xfa\x0aredis-bits\xc0\x40\xfe\x00"
	rdb10     = "REDIS0010\xfa\x09redis-ver\x067.0.15\xfa\x0aredis-bits\xc0\x40\xfe\x00"
	rdb11     = "REDIS0011\xfa\x0avalkey-ver\x058.0.1\xfe\x00"
	rdb12     = "REDIS0012\xfa\x09redis-ver\x057.4.1\xfe\x00"
	valkey80  = "VALKEY080\xfa\x0avalkey-ver\x059.0.0\xfe\x00"
	emptyBase = "REDIS0010\xfa\x09redis-ver\x067.0.15\xfa\x0aredis-bits\xc0\x40\xfa\x05ctime\xc2\x00\x00\x00\x00\xff12345678"

	manifest = "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n"
)

// Start does not start a server that would ignore the data or could not read the data.
func TestRefusesData(t *testing.T) {
	t.Parallel()
	const (
		redis62, redis70, redis72, redis74 = "Redis server v=6.2.16 sha=0", "Redis server v=7.0.15 sha=0", "Redis server v=7.2.6 sha=0", "Redis server v=7.4.1 sha=0"
		redis80, valkey72, valkey80server  = "Redis server v=7.9.224 sha=0", "Server v=7.2.7 sha=0", "Valkey server v=8.0.1 sha=0"
		valkey90                           = "Valkey server v=9.0.0 sha=0"
		dir                                = "appendonlydir/"
	)
	parts := func(base string) map[string]string {
		return map[string]string{dir + "appendonly.aof.manifest": manifest, dir + "appendonly.aof.1.base.rdb": base, dir + "appendonly.aof.1.incr.aof": ""}
	}
	for name, test := range map[string]struct {
		server string
		files  map[string]string
		want   string // empty: the server is started
		err    error
	}{
		"empty directory":           {redis62, nil, "", nil},
		"6.2 on its own":            {redis62, map[string]string{"appendonly.aof": rdb9}, "", nil},
		"7.0 on 6.2":                {redis70, map[string]string{"appendonly.aof": rdb9}, "", nil},
		"valkey on 6.2":             {valkey80server, map[string]string{"appendonly.aof": rdb9}, "", nil},
		"7.0 on its own":            {redis70, parts(rdb10), "", nil},
		"valkey 7.2 on 7.0":         {valkey72, parts(rdb10), "", nil},
		"6.2 on 7.0":                {redis62, parts(rdb10), "was written by Redis 7.0.15", redisserver.ErrUnreadable},
		"6.2 on upgraded data":      {redis62, map[string]string{dir + "appendonly.aof.manifest": "file appendonly.aof seq 1 type b\n", dir + "appendonly.aof": rdb9}, "install Redis 7.0 or newer", redisserver.ErrUnreadable},
		"7.0 on 7.4":                {redis70, parts(rdb12), "was written by Redis 7.4.1 (RDB version 12)", redisserver.ErrUnreadable},
		"7.2 on 7.4":                {redis72, parts(rdb12), "install Redis 7.4 or newer", redisserver.ErrUnreadable},
		"valkey 8.0 on 7.4":         {valkey80server, parts(rdb12), "reads up to version 11", redisserver.ErrUnreadable},
		"7.4 on 8.0":                {redis74, parts(rdb12), "", nil},
		"8.0 on valkey 8.0":         {redis80, parts(rdb11), "", nil},
		"7.0 on valkey 8.0":         {redis70, parts(rdb11), "Valkey 8.0.1", redisserver.ErrUnreadable},
		"7.4 on valkey 9.0":         {redis74, parts(valkey80), "install Valkey 9.0 or newer", redisserver.ErrUnreadable},
		"valkey 9.0 on its own":     {valkey90, parts(valkey80), "", nil},
		"6.2 on a newer preamble":   {redis62, map[string]string{"appendonly.aof": rdb10}, "install Redis 7.0 or newer, or Valkey", redisserver.ErrUnreadable},
		"no manifest":               {redis70, map[string]string{dir + "appendonly.aof.1.base.rdb": rdb10, dir + "appendonly.aof.1.incr.aof": "x"}, "no appendonly.aof.manifest", redisserver.ErrDamaged},
		"6.2, no manifest":          {redis62, map[string]string{dir + "appendonly.aof.1.base.rdb": rdb10}, "would start without the data", redisserver.ErrUnreadable},
		"killed during first start": {redis70, map[string]string{dir + "appendonly.aof.1.base.rdb": emptyBase, dir + "appendonly.aof.1.incr.aof": ""}, "", nil},
		"an empty manifest":         {redis70, map[string]string{dir + "appendonly.aof.manifest": "", dir + "appendonly.aof.1.base.rdb": rdb10}, "it lists no files", redisserver.ErrDamaged},
		"a damaged manifest":        {redis70, map[string]string{dir + "appendonly.aof.manifest": "file\x00\x00", dir + "appendonly.aof.1.base.rdb": rdb10}, "line 1 cannot be read", redisserver.ErrDamaged},
		"no base":                   {redis70, map[string]string{dir + "appendonly.aof.manifest": manifest, dir + "appendonly.aof.1.incr.aof": "x"}, "appendonly.aof.1.base.rdb is missing", redisserver.ErrDamaged},
		"an interrupted upgrade":    {redis70, map[string]string{dir + "appendonly.aof.manifest": "file appendonly.aof seq 1 type b\n", "appendonly.aof": rdb9}, "", nil},
		"two sets of data":          {redis70, with(parts(rdb10), "appendonly.aof", rdb9), "two sets of data", redisserver.ErrUnreadable},
		"a snapshot only":           {redis70, map[string]string{"dump.rdb": rdb10}, "retwis load", redisserver.ErrUnreadable},
		"old snapshot beside AOF":   {redis70, with(parts(rdb10), "dump.rdb", rdb12), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := shortDir(t)
			for file, content := range test.files {
				write(t, data, file, content)
			}
			binary := fakeServer(t, t.TempDir(), "server", test.server)
			_, err := redisserver.Start(t.Context(), redisserver.Options{Dir: data, Binary: binary, Config: appendOnly, Logger: quiet})
			if test.want == "" { // Start ran the fake server, which is not a Redis server
				if err == nil || errors.Is(err, redisserver.ErrUnreadable) || errors.Is(err, redisserver.ErrDamaged) {
					t.Errorf("Start = %v, want the error of the fake server", err)
				}
				return
			}
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Start = %v, want %v with %q", err, test.err, test.want)
			}
		})
	}
}

func with(files map[string]string, name, content string) map[string]string {
	files[name] = content
	return files
}

// Start also checks a snapshot if the server would load the snapshot because there is no
// append-only file.
func TestRefusesNewerSnapshot(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	write(t, dir, "dump.rdb", rdb12)
	binary := fakeServer(t, t.TempDir(), "server", "Redis server v=7.0.15 sha=0")
	_, err := redisserver.Start(t.Context(), redisserver.Options{Dir: dir, Binary: binary, Config: []string{`save ""`}, Logger: quiet})
	if !errors.Is(err, redisserver.ErrUnreadable) || !strings.Contains(err.Error(), "Redis 7.4.1") {
		t.Errorf("Start = %v, want ErrUnreadable", err)
	}
}

// FindFor prefers the kind of server that wrote a directory, and skips servers that cannot read the
// directory.
func TestFindFor(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	valkey := fakeServer(t, bin, "valkey-server", "Valkey server v=8.0.1 sha=0")
	redis := fakeServer(t, bin, "redis-server", "Redis server v=7.4.1 sha=0")
	old := t.TempDir()
	fakeServer(t, old, "redis-server", "Redis server v=6.2.16 sha=0")
	files := func(base string) string {
		dir := t.TempDir()
		write(t, dir, "appendonlydir/appendonly.aof.manifest", manifest)
		write(t, dir, "appendonlydir/appendonly.aof.1.base.rdb", base)
		write(t, dir, "appendonlydir/appendonly.aof.1.incr.aof", "")
		return dir
	}
	for name, test := range map[string]struct{ path, dir, named, want string }{
		"empty":                         {bin, t.TempDir(), "", valkey},
		"redis 7.4 wrote it":            {bin, files(rdb12), "", redis},
		"redis 7.0 wrote it":            {bin, files(rdb10), "", redis},
		"valkey wrote it":               {bin, files(rdb11), "", valkey},
		"first server cannot read":      {old + ":" + bin, files(rdb10), "", redis},
		"no server can read":            {old, files(rdb10), "", filepath.Join(old, "redis-server")},
		"named server is never changed": {bin, files(rdb12), valkey, valkey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0])
			child.Env = []string{childEnv + "=findfor", "PATH=" + test.path, "RETWIS_REDIS_SERVER=" + test.named, "DIR=" + test.dir}
			out, err := child.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != test.want+" <nil>" {
				t.Errorf("FindFor printed %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

// If the server cannot load its data, the error contains the command that truncates the damaged
// file and, if the check tool is missing, the command that creates the tool.
func TestDamagedData(t *testing.T) {
	t.Parallel()
	binary := redistest.Require(t)
	opt := redisserver.Options{
		Dir: filepath.Join(shortDir(t), "it's here"), Binary: filepath.Join(t.TempDir(), filepath.Base(binary)),
		Config: []string{"appendonly yes", "appendfsync always", `save ""`}, Logger: quiet,
	}
	if err := os.Symlink(binary, opt.Binary); err != nil {
		t.Fatal(err)
	}
	s := start(t, opt)
	do(t, s, "SET before value")
	info, err := os.Stat(lastPart(t, opt.Dir))
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, "SET damaged value")
	do(t, s, "SET after value")
	_ = s.Kill()
	<-s.Done()
	file, err := os.OpenFile(lastPart(t, opt.Dir), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("??"), info.Size()); err != nil {
		t.Fatal(err)
	}
	runFromError(t, opt, `which is the server under another name \((ln -s .*)\), and `)
	runFromError(t, opt, `drop everything after the damage: (cp -a .*)$`)
	s = start(t, opt)
	for key, want := range map[string]string{"before": "value", "damaged": "$-1", "after": "$-1"} {
		if got := do(t, s, "GET "+key); got != want {
			t.Errorf("GET %s = %q, want %q", key, got, want)
		}
	}
	copied, err := filepath.Glob(filepath.Join(opt.Dir, "*.damaged"))
	if err != nil || len(copied) != 1 {
		t.Errorf("copies of the damaged file: %q, %v; want 1", copied, err)
	}
}

// runFromError runs the command that pattern matches in the error of Start.
func runFromError(t *testing.T, opt redisserver.Options, pattern string) {
	t.Helper()
	_, err := redisserver.Start(t.Context(), opt)
	if !errors.Is(err, redisserver.ErrDamaged) || !strings.Contains(err.Error(), "Bad file format") {
		t.Fatalf("Start = %v, want ErrDamaged", err)
	}
	match := regexp.MustCompile(pattern).FindStringSubmatch(err.Error())
	if match == nil {
		t.Fatalf("Start = %v, want %s", err, pattern)
	}
	if out, err := exec.Command("sh", "-c", match[1]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", match[1], err, out)
	}
}

// lastPart returns the append-only file to which the server in dir writes.
func lastPart(t *testing.T, dir string) string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) == 0 {
		return filepath.Join(dir, "appendonly.aof") // before Redis 7
	}
	return parts[len(parts)-1]
}
