package redisserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Names of the servers' files.
const (
	aofName      = "appendonly.aof"
	aofDir       = "appendonlydir" // since Redis 7
	manifestName = "appendonly.aof.manifest"
	dumpName     = "dump.rdb"
)

var (
	// ErrUnreadable means that this server cannot read the files of the data directory, but
	// another version can.
	ErrUnreadable = errors.New("the server cannot read the data directory")
	// ErrDamaged means that files of the data directory are damaged or missing.
	ErrDamaged = errors.New("the data directory is damaged")
)

// dataDir describes the data files in a directory.
//
// Before version 7 the append-only file was a single file. Since then it consists of parts in a
// separate directory: a base, which is a snapshot or an older append-only file, and increments,
// in the order of a manifest. A server reads the files that its settings and its version require,
// and silently ignores all other files.
type dataDir struct {
	path     string
	manifest bool
	broken   string   // why the manifest is unreadable; if set, the manifest counts as missing
	parts    []string // listed in the manifest, in order, without history files; relative to path
	unlisted []string // other data files in appendonlydir
	single   bool     // appendonly.aof exists
	dump     bool     // dump.rdb exists
	format   format   // newest format of the snapshots that would be read
}

// format is the version of a snapshot, according to its first bytes.
type format struct {
	rdb    int    // 0: no snapshot
	valkey bool   // written by Valkey 9.0 or newer, whose versions start at 80
	writer string // such as "Redis 7.0.15", if the file contains it
	path   string // path of the file
}

func (f format) String() string {
	name := "RDB version " + strconv.Itoa(f.rdb)
	if f.valkey {
		name = "Valkey RDB version " + strconv.Itoa(f.rdb)
	}
	return name
}

// readDataDir reads the state of a directory. A missing directory is empty.
func readDataDir(path string) (*dataDir, error) {
	d := &dataDir{path: path}
	var err error
	if d.single, err = hasData(filepath.Join(path, aofName)); err != nil {
		return nil, err
	}
	if d.dump, err = hasData(filepath.Join(path, dumpName)); err != nil {
		return nil, err
	}
	if err := d.readParts(); err != nil {
		return nil, err
	}
	read := d.parts
	switch {
	case d.manifest:
	case d.single:
		read = []string{aofName}
	case d.dump:
		read = []string{dumpName}
	default:
		read = d.unlisted
	}
	for _, name := range read {
		f, err := readFormat(filepath.Join(path, name))
		if err != nil {
			return nil, err
		}
		if f.newer(d.format) {
			d.format = f
		}
	}
	return d, nil
}

// HasDatabase reports whether a directory contains files of a server, damaged or not.
func HasDatabase(dir string) (bool, error) {
	for _, name := range []string{aofDir, aofName, dumpName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// hasData reports whether a file exists and is not empty.
func hasData(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("redisserver: inspect the data directory: %w", err)
	}
	return info.Mode().IsRegular() && info.Size() > 0, nil
}

// readParts reads appendonlydir.
func (d *dataDir) readParts() error {
	entries, err := os.ReadDir(filepath.Join(d.path, aofDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("redisserver: inspect the data directory: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(d.path, aofDir, manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("redisserver: inspect the data directory: %w", err)
	}
	d.manifest = err == nil
	listed := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, kind, ok := parseManifestLine(line)
		if !ok {
			d.broken = fmt.Sprintf("line %d cannot be read: %.80q", i+1, line)
			break
		}
		listed[name] = true
		if kind != "h" {
			d.parts = append(d.parts, filepath.Join(aofDir, name))
		}
	}
	if d.manifest && len(d.parts) == 0 && d.broken == "" {
		d.broken = "it lists no files"
	}
	if d.broken != "" {
		d.manifest, d.parts, listed = false, nil, nil
	}
	for _, entry := range entries {
		name := entry.Name()
		isData := strings.HasSuffix(name, ".aof") || strings.HasSuffix(name, ".rdb")
		if !entry.Type().IsRegular() || listed[name] || !isData || !strings.HasPrefix(name, aofName) {
			continue
		}
		if data, err := hasData(filepath.Join(d.path, aofDir, name)); err != nil {
			return err
		} else if data {
			d.unlisted = append(d.unlisted, filepath.Join(aofDir, name))
		}
	}
	return d.forgetFirstBase()
}

// forgetFirstBase ignores the file of a server that was killed right after its first start: a
// base without keys, written before the manifest.
func (d *dataDir) forgetFirstBase() error {
	if d.manifest || len(d.unlisted) != 1 {
		return nil
	}
	head, err := readHead(filepath.Join(d.path, d.unlisted[0]))
	if err == nil && isEmptySnapshot(head) {
		d.unlisted = nil
	}
	return err
}

// parseManifestLine parses "file NAME seq N type b", where the type is b for the
// base, i for an increment and h for history.
func parseManifestLine(line string) (name, kind string, ok bool) {
	words := strings.Fields(line)
	if len(words)%2 != 0 {
		return "", "", false
	}
	for i := 0; i < len(words); i += 2 {
		switch words[i] {
		case "file":
			name = strings.Trim(words[i+1], `"`)
		case "type":
			kind = words[i+1]
		}
	}
	return name, kind, name != "" && filepath.Base(name) == name && strings.Contains("bih", kind) && len(kind) == 1
}

// upgrading reports whether a server of version 7 was interrupted while moving appendonly.aof
// into appendonlydir: the next server resumes the move.
func (d *dataDir) upgrading() bool {
	if !d.single || !d.manifest || len(d.parts) != 1 || d.parts[0] != filepath.Join(aofDir, aofName) {
		return false
	}
	_, err := os.Stat(filepath.Join(d.path, d.parts[0]))
	return errors.Is(err, fs.ErrNotExist)
}

// missing returns the listed parts that do not exist.
func (d *dataDir) missing() []string {
	var missing []string
	for _, name := range d.parts {
		if _, err := os.Stat(filepath.Join(d.path, name)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		}
	}
	return missing
}

// check returns an error if a server must not be started on the directory, because the server would
// fail to start, or start without the existing data.
func (d *dataDir) check(p program, appendOnly bool) error {
	if !appendOnly {
		f, err := readFormat(filepath.Join(d.path, dumpName))
		if err != nil {
			return err
		}
		return d.checkFormat(p, f)
	}
	switch {
	case (d.manifest || len(d.unlisted) > 0) && p.before(7, 0):
		return fmt.Errorf("redisserver: %w: %s was written by %s; %s ignores %s and would start without the data: "+
			"install Redis 7.0 or newer or Valkey, or name it in RETWIS_REDIS_SERVER", ErrUnreadable, d.path, d.writer("Redis 7.0 or newer"), p, aofDir)
	case d.broken != "":
		return fmt.Errorf("redisserver: %w: %s: %s; restore a backup", ErrDamaged, filepath.Join(d.path, aofDir, manifestName), d.broken)
	case !d.manifest && len(d.unlisted) > 0:
		return fmt.Errorf("redisserver: %w: %s has data (%s) but no %s, so a server would start without it; restore a backup",
			ErrDamaged, filepath.Join(d.path, aofDir), strings.Join(baseNames(d.unlisted), ", "), manifestName)
	case d.upgrading():
		return d.checkFormat(p, d.format)
	case len(d.missing()) > 0:
		return fmt.Errorf("redisserver: %w: of the files that %s lists, %s is missing; restore a backup",
			ErrDamaged, filepath.Join(d.path, aofDir, manifestName), strings.Join(baseNames(d.missing()), ", "))
	case d.manifest && d.single && len(d.parts) > 0:
		return fmt.Errorf("redisserver: %w: %s holds two sets of data, %s%s and %s%s, but a server reads only one of them: "+
			"move the one you do not need away", ErrUnreadable, d.path,
			aofDir, d.written(d.parts[len(d.parts)-1]), aofName, d.written(aofName))
	case !d.manifest && !d.single && d.dump:
		return fmt.Errorf("redisserver: %w: %s has a snapshot (%s) but no append-only file, so the server would start without its data; "+
			"move it away and load it: mv %s %s && retwis load %[5]s --redis %[6]s", ErrUnreadable, d.path, dumpName,
			shellQuote(filepath.Join(d.path, dumpName)), shellQuote(d.path+".rdb"), shellQuote("embedded:"+d.path))
	}
	return d.checkFormat(p, d.format)
}

// checkFormat returns an error if a snapshot is newer than the server.
func (d *dataDir) checkFormat(p program, f format) error {
	newest, known := p.formats()
	if !known || f.rdb == 0 || !f.newer(newest) {
		return nil
	}
	return fmt.Errorf("redisserver: %w: %s was written by %s (%s); %s reads up to version %d: install %s, or name it in RETWIS_REDIS_SERVER",
		ErrUnreadable, f.path, f.wrote("a newer server"), f, p, newest.rdb, f.readers())
}

// written returns the modification time of a file as text.
func (d *dataDir) written(name string) string {
	info, err := os.Stat(filepath.Join(d.path, name))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (last written %s)", info.ModTime().UTC().Format(time.DateTime))
}

func (d *dataDir) writer(fallback string) string { return d.format.wrote(fallback) }

func baseNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	return names
}

// newer reports whether a server that reads g may be unable to read f.
func (f format) newer(g format) bool {
	if f.valkey != g.valkey {
		// Valkey since 9.0 reads snapshots of Redis up to version 11.
		return f.valkey || f.rdb > 11
	}
	return f.rdb > g.rdb
}

// wrote returns the server that wrote the file, or fallback if the file does not contain it.
func (f format) wrote(fallback string) string {
	if f.writer != "" {
		return f.writer
	}
	return fallback
}

// readers returns the servers that can read the file.
func (f format) readers() string {
	switch {
	case f.valkey:
		return "Valkey 9.0 or newer"
	case f.rdb <= 10:
		return "Redis 7.0 or newer, or Valkey"
	case f.rdb == 11:
		return "Redis 7.2 or newer, or Valkey"
	case f.rdb == 12:
		return "Redis 7.4 or newer"
	}
	return "a newer Redis"
}

// headLength is how much of a snapshot is read to determine its version and its writer, which
// come first.
const headLength = 512

// readFormat reads the format of a file. The format has no version for a missing file and for a file
// that is not a snapshot.
func readFormat(path string) (format, error) {
	head, err := readHead(path)
	if err != nil {
		return format{}, err
	}
	f := parseFormat(head)
	f.path = path
	return f, nil
}

// readHead returns the first bytes of a file, or nothing if it is missing.
func readHead(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("redisserver: inspect the data directory: %w", err)
	}
	defer file.Close()
	head := make([]byte, headLength)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("redisserver: inspect the data directory: %w", err)
	}
	return head[:n], nil
}

// isEmptySnapshot reports whether a snapshot has no keys.
func isEmptySnapshot(head []byte) bool {
	if parseFormat(head).rdb == 0 {
		return false
	}
	rest := head[9:]
	for len(rest) > 0 && rest[0] == 0xfa {
		rest = skipString(skipString(rest[1:]))
	}
	return len(rest) > 0 && rest[0] == 0xff
}

// skipString skips a short string, or a string that is encoded as a number.
func skipString(from []byte) []byte {
	if len(from) == 0 {
		return nil
	}
	n := 1
	switch first := from[0]; {
	case first < 64:
		n += int(first)
	case first >= 0xc0 && first <= 0xc2:
		n += 1 << (first - 0xc0)
	default:
		return nil
	}
	return from[min(n, len(from)):]
}

// parseFormat parses REDIS0011 or VALKEY080, and the field with the server's version.
func parseFormat(head []byte) format {
	var f format
	digits, ok := bytes.CutPrefix(head, []byte("REDIS"))
	width := 4
	if !ok {
		digits, f.valkey = bytes.CutPrefix(head, []byte("VALKEY"))
		ok, width = f.valkey, 3
	}
	if !ok || len(digits) < width {
		return format{}
	}
	n, err := strconv.Atoi(string(digits[:width]))
	if err != nil || n <= 0 {
		return format{}
	}
	f.rdb = n
	for field, name := range map[string]string{"\xfa\x09redis-ver": "Redis ", "\xfa\x0avalkey-ver": "Valkey "} {
		_, rest, found := bytes.Cut(head, []byte(field))
		if found && len(rest) > 1 && rest[0] < 64 && len(rest) > int(rest[0]) {
			f.writer = name + string(rest[1:1+rest[0]])
		}
	}
	return f
}
