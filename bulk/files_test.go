package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redis/redisurl"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// memory returns a File with the given text.
func memory(name, text string) File {
	return File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// clientOptions returns the client options for a server.
func clientOptions(t *testing.T, s *redistest.Server) rueidis.ClientOption {
	t.Helper()
	config, err := redisurl.Parse(s.URL())
	require.OK(t)(err)
	option, err := config.ClientOption()
	require.OK(t)(err)
	return option
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	require.OK(t)(io.WriteString(z, text))
	require.OK(t)(z.Close())
	return out.String()
}

// TestSeveralFiles loads files of different formats as one input. Each file starts in database 0,
// and record numbers continue across files.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	files := []File{
		{Name: "a.resp", Format: RESP, Open: memory("", string(protocol(t, "SELECT 3\nSET a 1\n"))).Open},
		memory("b.csv", "id,name\n1,Ada\n2,Grace\n"),
		memory("c.csv.gz", gzipped(t, "name,id\nAlan,3\n")),
		{Name: "d.resp", Format: RESP, Open: memory("", string(protocol(t, "MULTI\nSELECT 5\nSET d 1\nEXEC\n"))).Open},
		memory("e.json", `[{"id": 4, "name": "Edsger"},`+"\n"+`{"id": 5, "name": "Barbara"}]`),
		memory("f.ndjson", `{"id": 6, "name": "Donald"}`),
	}
	opt := Options{Do: []string{"SET person:{#} {id}:{name}"}}
	const want = "0:person:1=1:Ada 0:person:2=2:Grace 0:person:3=3:Alan 0:person:4=4:Edsger 0:person:5=5:Barbara 0:person:6=6:Donald 3:a=1 5:d=1"
	s := redistest.Own(t)
	report := loadFiles(t, s, files, opt)
	if report.Commands != 12 || report.Replies != 12 || report.Records != 6 {
		t.Errorf("report: %+v, want 12 commands and replies and 6 records", report)
	}
	if got := stored(t, s.Client(t)); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	var out bytes.Buffer
	require.OK(t)(Emit(context.Background(), &out, opt, files...))
	again := redistest.Own(t)
	load(t, again.URL(), out.Bytes(), Options{})
	if got := stored(t, again.Client(t)); got != want {
		t.Errorf("the emitted commands stored\n%s, want\n%s", got, want)
	}
}

// TestErrorsNameFiles checks that an error names its file and that the previous files are loaded.
func TestErrorsNameFiles(t *testing.T) {
	t.Parallel()
	good := memory("good.txt", "SET a 1\n\nINCR word\n")
	for name, test := range map[string]struct {
		file File
		opt  Options
		want string
	}{
		"line":        {memory("bad.txt", "SET a 1\nSET \"b\n"), Options{}, "bulk: bad.txt: line 2: column 5: the quote"},
		"byte":        {memory("bad.resp", "*1\r\n$4\r\nPING\r\n*x"), Options{}, "bulk: bad.resp: byte 15: "},
		"refused":     {memory("bad.txt", "SET a 1\nSUBSCRIBE x\n"), Options{}, "bulk: bad.txt: line 2: command 4: SUBSCRIBE makes no sense"},
		"kind":        {memory("bad.zip", "PK\x03\x04\x14\x00\x00\x00\x00\x00"), Options{}, "bulk: bad.zip: byte 0: the input is a zip archive"},
		"truncated":   {memory("bad.gz", gzipped(t, "SET a 1\nSET b 2\n")[:20]), Options{}, "bulk: bad.gz: "},
		"transaction": {memory("bad.txt", "MULTI\nSET a 1\n"), Options{}, "bulk: bad.txt: line 2: the input ends within the transaction"},
		"missing":     {openFile("/no/such/file"), Options{}, "open /no/such/file"},
		"snapshot":    {memory("bad.rdb", "REDIS0009\x82"), Options{}, "bulk: bad.rdb: byte 10: "},
	} {
		var out bytes.Buffer
		report, err := Emit(context.Background(), &out, test.opt, good, test.file)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || report.Commands < 2 {
			t.Errorf("%s: %v, want %q after the commands of the first file; report: %+v", name, err, test.want, report)
		}
	}
	s := redistest.Own(t)
	report := loadFiles(t, s, []File{memory("a.txt", "SET word x\n"), good, memory("c.txt", "INCR word\n"), {Name: "d", Format: RESP, Open: memory("", "*2\r\n$4\r\nINCR\r\n$4\r\nword\r\n").Open}}, Options{})
	var positions []string
	for _, f := range report.Failures {
		positions = append(positions, fmt.Sprint(f.File, ":", f.Line, ":", f.Offset, ":", f.Command))
	}
	if got := strings.Join(positions, " "); got != "good.txt:3:0:3 c.txt:1:0:4 d:0:0:5" {
		t.Errorf("failures at %q, want them in good.txt, c.txt and d", got)
	}
	for name, files := range map[string][]File{"no files": nil, "no Open": {{Name: "a"}}, "format": {{Format: "xml", Open: good.Open}}} {
		if _, err := Emit(context.Background(), io.Discard, Options{}, files...); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", name, err)
		}
	}
}

// interruptingReader is a reader that calls stop when the number of bytes left to read is reached.
type interruptingReader struct {
	io.ReadCloser
	left *int
	stop func()
}

func (r interruptingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p[:min(len(p), 4<<10)])
	if *r.left -= n; *r.left <= 0 {
		r.stop()
	}
	return n, err
}

// TestFilesResume stops and resumes a load of several files, including snapshots, at random offsets
// until it is complete. Then all data must be loaded, and a changed file must be detected.
func TestFilesResume(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t, debugging(t)...)
	var files []File
	size := 0
	for i, path := range []string{"dump.rdb", "appendonlydir/appendonly.aof.2.base.rdb", "appendonlydir/appendonly.aof.2.incr.aof"} {
		data, err := os.ReadFile(filepath.Join(serverFiles, "redis-7.2.6", path))
		require.OK(t)(err)
		size += len(data)
		files = append(files, memory(path, string(data)))
		if i == 0 {
			var people, numbers strings.Builder
			people.WriteString("id,name\n")
			for n := range 5000 {
				fmt.Fprintf(&people, "%d,Name%d\n", n, n)
				numbers.Write(encode(t, []any{"RPUSH", "numbers", n}))
			}
			files = append(files, memory("people.csv", people.String()), File{Name: "numbers.resp", Format: RESP, Open: memory("", numbers.String()).Open})
			size += people.Len() + numbers.Len()
		}
	}
	opt := Options{Do: []string{"RPUSH people {#}:{id}:{name}"}}
	loadFiles(t, s, files, opt)
	want := digest(t, s.Client(t))

	opt.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	target := redistest.Own(t, debugging(t)...)
	stops := 0
	for {
		ctx, cancel := context.WithCancel(context.Background())
		left := 1 + rand.IntN(2*size)
		var wrapped []File
		for _, f := range files {
			wrapped = append(wrapped, File{Name: f.Name, Open: func() (io.ReadCloser, error) {
				r, err := f.Open()
				return interruptingReader{r, &left, cancel}, err
			}})
		}
		_, err := Load(ctx, clientOptions(t, target), opt, wrapped...)
		stopped := ctx.Err() != nil
		cancel()
		if err == nil {
			break
		}
		if !stopped || !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		stops++
	}
	if got := digest(t, target.Client(t)); got != want {
		t.Errorf("digest %s after %d stops, want %s", got, stops, want)
	}
	if report := loadFiles(t, target, files, opt); report.Commands != 0 {
		t.Errorf("the last load sent %d commands, want 0", report.Commands)
	}
	changed := append([]File{}, files...)
	changed[1] = memory("people.csv", "id,name\n1,x\n")
	_, err := Load(context.Background(), clientOptions(t, target), opt, changed...)
	if err == nil || !strings.Contains(err.Error(), "does not match the checkpoint") {
		t.Errorf("load with a changed file: %v, want an error about the checkpoint", err)
	}
	if _, err = Load(context.Background(), clientOptions(t, target), opt, files[:2]...); err == nil || !strings.Contains(err.Error(), "does not match the checkpoint") {
		t.Errorf("load of fewer files: %v, want an error about the checkpoint", err)
	}
}

// TestAppendOnlyDirectory truncates the last increment, as a crash does, and checks that the
// increment is loaded up to the last complete command or transaction.
func TestAppendOnlyDirectory(t *testing.T) {
	t.Parallel()
	incr := string(protocol(t, "SELECT 0\nSET a 1\nSET b 2\nMULTI\nSET c 3\nEXEC\n"))
	write := func(manifest string, parts map[string]string) string {
		dir := t.TempDir()
		parts["x.aof.manifest"] = manifest
		for name, text := range parts {
			require.OK(t)(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		return dir
	}
	const manifest = "file x.aof.1.base.rdb seq 1 type b\n# a comment\nfile \"x.aof.1.incr.aof\" seq 1 type i\nfile old.aof seq 0 type h\nfile x.aof.2.incr.aof seq 2 type i startoffset 0\n"
	base := "REDIS0003\xfe\x00\x00\x01a\x01x\xff"
	s := redistest.Own(t)
	c := s.Client(t)
	for cut := len(incr); cut >= 0; cut-- {
		if cut%7 != 0 && cut != len(incr) && cut > 30 {
			continue
		}
		dir := write(manifest, map[string]string{"x.aof.1.base.rdb": base, "x.aof.1.incr.aof": incr[:strings.Index(incr, "*1\r\n$5\r\nMULTI")], "x.aof.2.incr.aof": incr[:cut]})
		files, err := AppendOnlyFiles(dir)
		if err != nil || len(files) != 3 {
			t.Fatalf("AppendOnlyFiles = %v, %v; want 3 files", files, err)
		}
		do(t, c, "FLUSHALL")
		report := loadFiles(t, s, files, Options{})
		want := "0:a=1 0:b=2"
		if cut == len(incr) {
			want += " 0:c=3"
		}
		if got := stored(t, c); got != want || report.Errors != 0 || report.Replies != report.Commands {
			t.Errorf("cut at %d: stored %s, want %s; report: %+v", cut, got, want, report)
		}
		betweenCommands := cut == 0 || cut == len(incr)
		for _, start := range []string{"*3\r\n$3\r\nSET\r\n$1\r\na", "*3\r\n$3\r\nSET\r\n$1\r\nb", "*1\r\n$5\r\nMULTI"} {
			betweenCommands = betweenCommands || cut == strings.Index(incr, start)
		}
		if (len(report.Truncated) == 0) != betweenCommands || len(report.Truncated) > 0 && !strings.Contains(report.Truncated[0], "x.aof.2.incr.aof ends within") {
			t.Errorf("cut at %d: Truncated = %q, want only the last increment if it is cut within a command", cut, report.Truncated)
		}
		if again := loadFiles(t, s, files, Options{Checkpoint: filepath.Join(dir, "checkpoint")}); again.Errors != 0 {
			t.Errorf("cut at %d: report of the second load: %+v, want no errors", cut, again)
		}
		// The emitted commands must give the same result.
		var out bytes.Buffer
		require.OK(t)(Emit(context.Background(), &out, Options{}, files...))
		do(t, c, "FLUSHALL")
		load(t, s.URL(), out.Bytes(), Options{})
		if got := stored(t, c); got != want {
			t.Errorf("cut at %d: the emitted commands stored %s, want %s", cut, got, want)
		}
	}
	// Only the last file may end early.
	dir := write(manifest, map[string]string{"x.aof.1.base.rdb": base, "x.aof.1.incr.aof": incr[:len(incr)-3], "x.aof.2.incr.aof": incr})
	files, err := AppendOnlyFiles(dir)
	require.OK(t)(err)
	_, err = Emit(context.Background(), io.Discard, Options{}, files...)
	if err == nil || !strings.Contains(err.Error(), "x.aof.1.incr.aof: byte ") || !strings.Contains(err.Error(), "ends within the command") {
		t.Errorf("a truncated first increment: %v, want an error", err)
	}
	for text, want := range map[string]string{
		"": "lists neither a base nor an increment",
		"file a seq 1 type b\nfile b seq 2 type b\n":               "line 2: there is a second base",
		"file ../a seq 1 type b\n":                                 "the name of a file in the same directory",
		"file a seq x type b\n":                                    "a number after seq",
		"file a seq 1 type z\n":                                    "expected type b, i or h",
		"file a seq 1\n":                                           "expected type b, i or h",
		"file a seq\n":                                             "expected pairs",
		"file \"a seq 1 type b\n":                                  "expected pairs",
		"file a seq 2 type i\nfile b seq 2 type i\n":               "line 2: the increments are not in order",
		"file missing seq 1 type b\n":                              "a file that x.aof.manifest lists is missing",
		"file x.aof.manifest seq 1 type h\n":                       "lists neither a base nor an increment",
		"file x.aof.manifest seq 1 type b extra \"1 2\" more 3\n#": "",
	} {
		_, err := AppendOnlyFiles(write(text, map[string]string{}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	empty := t.TempDir()
	if _, err := AppendOnlyFiles(empty); err == nil || !strings.Contains(err.Error(), "has no manifest") {
		t.Errorf("an empty directory: %v, want an error", err)
	}
	if _, err := AppendOnlyFiles(filepath.Dir(dir)); err == nil || !strings.Contains(err.Error(), "did you mean "+filepath.Dir(dir)) {
		t.Errorf("the parent directory: %v, want an error with a hint", err)
	}
}

// TestCheckpointBeforeTransaction loads an append-only file that ends within a transaction, and
// then the complete file.
func TestCheckpointBeforeTransaction(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	c := s.Client(t)
	complete := string(protocol(t, "SET a 1\nSET b 2\nMULTI\nSET c 3\nEXEC\nSET d 4\n"))
	for _, end := range []string{"*3\r\n$3\r\nSET\r\n$1\r\nc", "c\r\n$1\r\n3", "*1\r\n$4\r\nEXEC", "EXEC"} {
		do(t, c, "FLUSHALL")
		opt := Options{Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
		for _, text := range []string{complete[:strings.Index(complete, end)], complete} {
			file := memory("x.aof", text)
			file.Format, file.MayEndEarly = RESP, true
			if report := loadFiles(t, s, []File{file}, opt); report.Errors != 0 {
				t.Errorf("cut before %q: report: %+v, want no errors", end, report)
			}
		}
		if got := stored(t, c); got != "0:a=1 0:b=2 0:c=3 0:d=4" {
			t.Errorf("cut before %q, then complete: stored %s, want a, b, c and d", end, got)
		}
	}
}

// TestJSONArray compares the records of JSON arrays with encoding/json.
func TestJSONArray(t *testing.T) {
	t.Parallel()
	do := []string{"SADD all {id|default:-}"}
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		var text strings.Builder
		blank := func() string { return rapid.StringOfN(rapid.SampledFrom([]rune(" \n\t\r")), 0, 3, -1).Draw(t, "blank") }
		text.WriteString(blank() + "[" + blank())
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			value := rapid.String().Draw(t, "value")
			object := map[string]any{"id": value, `x"]}\`: []any{value, map[string]any{"id": 1}}}
			encoded, err := json.MarshalIndent(object, "", blank())
			require.OK(t)(err)
			if i > 0 {
				text.WriteString(blank() + "," + blank())
			}
			text.Write(encoded)
			if json.Unmarshal(encoded, &object) != nil || object["id"] == "" {
				object["id"] = "-"
			}
			want = append(want, "SADD|all|"+object["id"].(string))
		}
		text.WriteString(blank() + "]" + blank())
		input := text.String()
		got, report, err := emitted(input, Options{Format: JSON, Do: do})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") || report.Records != int64(len(want)) {
			t.Fatalf("%q: emitted %q, %v; want %q", input, got, err, want)
		}
	})
	for _, format := range []Format{Auto, NDJSON} {
		if got, _, err := emitted("\xef\xbb\xbf\n[\n{\"id\":1}]", Options{Format: format, Do: do}); err != nil || len(got) != 1 {
			t.Errorf("format %q: emitted %q, %v; want one command", format, got, err)
		}
	}
	for _, format := range []Format{Commands, RESP, CSV} {
		opt := Options{Format: format}
		if format == CSV {
			opt.Do = do
		}
		if _, _, err := emitted("[{\"id\":1}]", opt); err == nil || !strings.Contains(err.Error(), "use the format json") {
			t.Errorf("format %s: %v, want a hint to use json", format, err)
		}
	}
}

// testSnapshotIntoCluster loads snapshots into a Cluster, which must reject all databases but 0.
func testSnapshotIntoCluster(t *testing.T, c *redistest.ClusterServers) {
	source := redistest.Own(t, "stream-node-max-entries 4")
	var commands [][]string
	for _, c := range allEncodings(t, 1) {
		if c[0] == "SELECT" {
			break
		}
		commands = append(commands, c)
	}
	run(t, source, commands)
	do(t, source.Client(t), "SAVE")
	path := filepath.Join(source.Dir(), "dump.rdb")
	url := urlOf(c)
	data, err := os.ReadFile(path)
	require.OK(t)(err)
	report := load(t, url, data, Options{})
	if report.Errors != 0 || len(report.Nodes) != 3 {
		t.Errorf("report: %+v, want 3 nodes and no errors", report)
	}
	if got, want := union(t, c.Masters), union(t, []*redistest.Server{source}); got != want {
		t.Error("the Cluster holds different data than the server that wrote the snapshot")
	}
	run(t, source, [][]string{{"SELECT", "3"}, {"SET", "a", "b"}})
	do(t, source.Client(t), "SAVE")
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	_, err = loadURL(context.Background(), url, bytes.NewReader(data), Options{})
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "SELECT 3") {
		t.Errorf("load of a snapshot with database 3: %v, want ErrFailed for SELECT 3", err)
	}
}

// TestExpiredKeys checks that expired keys of a snapshot are skipped.
func TestExpiredKeys(t *testing.T) {
	t.Parallel()
	got, report, err := emitted("REDIS0003\xfd\x01\x00\x00\x00\x00\x01a\x011\x00\x01b\x012\xff", Options{})
	if err != nil || strings.Join(got, " ") != "SET|b|2" || report.Records != 2 || report.Skipped != 1 {
		t.Errorf("emitted %q, %v; want only SET b; report: %+v", got, err, report)
	}
}
