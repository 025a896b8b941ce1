package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"retwis/internal/owner"
)

// ErrBeyondRepair: truncating the files cannot save any of the data.
var ErrBeyondRepair = errors.New("the data directory cannot be repaired")

// Finding describes the damage in one file of a data directory.
type Finding struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
	Size    int64  `json:"size"`
	// Cut is how many bytes a repair removes from the end of the file; Size if it
	// removes the file.
	Cut int64 `json:"cut"`
	// Commands is how many commands begin in these bytes; the damaged ones may or may
	// not be counted.
	Commands int64 `json:"commands"`
}

// Diagnosis is the state of a data directory, and the plan of its repair.
//
// An append-only file is a sequence of commands in its parts, so the longest undamaged
// prefix is an earlier state of the database. A repair keeps that prefix and removes the
// rest.
type Diagnosis struct {
	Dir      string
	Server   string // the program that checked the files
	Findings []Finding

	owner    owner.Owner
	data     *dataDir
	program  program
	parts    []string // in the order of the new manifest
	manifest bool     // the manifest must be rewritten
	cut      string   // the part to truncate
	size     int64    // its size after that
	remove   []string // parts after it
	snapshot bool     // the append-only file is created from dump.rdb
}

// Healthy reports whether there is nothing to repair.
func (d *Diagnosis) Healthy() bool { return len(d.Findings) == 0 }

func (d *Diagnosis) find(f Finding) { d.Findings = append(d.Findings, f) }

// ErrInUse: a server runs on the data directory.
var ErrInUse = errors.New("the data directory is in use")

// Diagnose checks the files of a data directory with the checking tools of the server that
// would run on it, and changes nothing. No server may run on the directory meanwhile: the
// caller excludes other processes of retwis, and Diagnose returns ErrInUse for a server of
// another program if it can detect it (on Linux). It returns ErrBeyondRepair, with the
// findings, if no prefix of the data is undamaged.
func Diagnose(ctx context.Context, getenv func(string) string, dir string) (*Diagnosis, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	of, err := owner.Of(dir)
	if err != nil {
		return nil, err
	}
	if by := inUse(dir); by != "" {
		return nil, fmt.Errorf("redisserver: %w: %s", ErrInUse, by)
	}
	binary, err := FindFor(ctx, getenv, dir)
	if err != nil {
		return nil, err
	}
	p, err := identify(ctx, binary)
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	d := &Diagnosis{Dir: dir, Server: p.String(), program: p, owner: of}
	if d.data, err = readDataDir(dir); err != nil {
		return nil, err
	}
	if err := d.data.check(p, true); errors.Is(err, ErrUnreadable) && !d.data.onlySnapshot() {
		return nil, err // not damaged: another server can read it
	}
	if err := d.data.checkFormat(p, d.data.format); err != nil {
		return nil, err
	}
	return d, d.diagnose(ctx)
}

// onlySnapshot reports whether dump.rdb is the only data file.
func (d *dataDir) onlySnapshot() bool {
	return d.dump && !d.single && !d.manifest && d.broken == "" && len(d.unlisted) == 0
}

func (d *Diagnosis) diagnose(ctx context.Context) error {
	switch {
	case d.data.onlySnapshot():
		return d.diagnoseSnapshot(ctx)
	case d.data.manifest:
		d.parts = d.data.parts
	case len(d.data.unlisted) > 0 || d.data.broken != "":
		if err := d.orderParts(); err != nil {
			return err
		}
	case d.data.single:
		d.parts = []string{aofName}
	}
	if d.data.upgrading() {
		return nil
	}
	for i, name := range d.parts {
		whole, err := d.checkPart(ctx, name, i == 0)
		if err != nil {
			return err
		}
		if !whole {
			d.removeAfter(i)
			return nil
		}
	}
	return nil
}

// diagnoseSnapshot plans an append-only file that begins with dump.rdb.
func (d *Diagnosis) diagnoseSnapshot(ctx context.Context) error {
	out, err := d.tool(ctx, "check-rdb", dumpName)
	if err != nil {
		if !errors.As(err, new(*exec.ExitError)) {
			return err
		}
		d.find(Finding{File: dumpName, Problem: "damaged: " + lastDetail(out)})
		return fmt.Errorf("redisserver: %w: a damaged snapshot cannot be repaired; restore a backup of %s", ErrBeyondRepair, filepath.Join(d.Dir, dumpName))
	}
	d.snapshot = true
	d.find(Finding{File: dumpName, Problem: "there is no append-only file, which would be read in its place", Size: d.fileSize(dumpName)})
	return nil
}

var partName = regexp.MustCompile(`^appendonly\.aof\.(\d+)\.(base|incr)\.(?:rdb|aof)$`)

// orderParts finds the order of the parts without a manifest: one base, and increments with
// consecutive numbers.
func (d *Diagnosis) orderParts() error {
	type part struct {
		name string
		seq  int
	}
	var bases, increments []part
	for _, name := range d.data.unlisted {
		base := filepath.Base(name)
		if base == aofName {
			bases = append(bases, part{name, 0})
			continue
		}
		match := partName.FindStringSubmatch(base)
		if match == nil {
			continue
		}
		seq, err := strconv.Atoi(match[1])
		if err != nil {
			continue
		}
		if match[2] == "base" {
			bases = append(bases, part{name, seq})
		} else {
			increments = append(increments, part{name, seq})
		}
	}
	problem := "missing"
	if d.data.broken != "" {
		problem = "damaged: " + d.data.broken
	}
	d.find(Finding{File: filepath.Join(aofDir, manifestName), Problem: problem})
	slices.SortFunc(increments, func(a, b part) int { return a.seq - b.seq })
	if len(bases) != 1 {
		return fmt.Errorf("redisserver: %w: %s has %d files that can be the base, and it is unknown which one is current; restore a backup",
			ErrBeyondRepair, filepath.Join(d.Dir, aofDir), len(bases))
	}
	d.parts = append(d.parts, bases[0].name)
	for i, p := range increments {
		if i > 0 && p.seq != increments[i-1].seq+1 {
			return fmt.Errorf("redisserver: %w: between %s and %s increments are missing; restore a backup",
				ErrBeyondRepair, increments[i-1].name, p.name)
		}
		d.parts = append(d.parts, p.name)
	}
	d.manifest = true
	return nil
}

// checkPart checks one part and plans its repair. It reports whether the part is
// undamaged.
func (d *Diagnosis) checkPart(ctx context.Context, name string, base bool) (whole bool, err error) {
	path := filepath.Join(d.Dir, name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		d.find(Finding{File: name, Problem: "missing"})
		if base {
			return false, fmt.Errorf("redisserver: %w: %s is missing, and the parts after it are useless without it; restore a backup", ErrBeyondRepair, path)
		}
		d.cut, d.size = name, 0
		return false, nil
	}
	if d.fileSize(name) == 0 {
		return true, nil // the checking tools report an empty file as damaged
	}
	out, err := d.tool(ctx, "check-aof", name)
	if err == nil {
		return true, nil
	}
	if !errors.As(err, new(*exec.ExitError)) {
		return false, err
	}
	size, valid, ok := parseAnalysis(out)
	if !ok {
		d.find(Finding{File: name, Problem: "damaged: " + lastDetail(out), Size: d.fileSize(name)})
		return false, fmt.Errorf("redisserver: %w: %s is damaged within the snapshot at its beginning; restore a backup", ErrBeyondRepair, path)
	}
	if valid == 0 && base {
		d.find(Finding{File: name, Problem: "nothing of it is valid", Size: size, Cut: size})
		return false, fmt.Errorf("redisserver: %w: nothing of %s is valid; restore a backup", ErrBeyondRepair, path)
	}
	d.cut, d.size = name, valid
	commands, err := countCommands(path, valid)
	d.find(Finding{File: name, Problem: describeDamage(path, valid, size), Size: size, Cut: size - valid, Commands: commands})
	return false, err
}

// removeAfter plans to remove the parts after a damaged one.
func (d *Diagnosis) removeAfter(damaged int) {
	keep := damaged + 1
	if d.size == 0 && damaged > 0 {
		keep = damaged
		if _, err := os.Stat(filepath.Join(d.Dir, d.cut)); err == nil {
			d.remove = append(d.remove, d.cut)
		}
		d.cut = ""
		d.manifest = true
	}
	for _, name := range d.parts[damaged+1:] {
		d.manifest = true
		d.remove = append(d.remove, name)
		size := d.fileSize(name)
		commands, _ := countCommands(filepath.Join(d.Dir, name), 0)
		d.find(Finding{File: name, Problem: "follows the damage", Size: size, Cut: size, Commands: commands})
	}
	d.parts = d.parts[:keep]
}

func (d *Diagnosis) fileSize(name string) int64 { return sizeOf(filepath.Join(d.Dir, name)) }

// sizeOf returns the size of a file, 0 if it does not exist.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tool runs a checking tool of the server on a file. The tools are the server program under
// another name, so they exist with every server, even if no link of that name is installed.
// A script that starts the server does not forward the name: then the tool has to be on
// PATH.
func (d *Diagnosis) tool(ctx context.Context, name string, args ...string) (string, error) {
	name = "redis-" + name
	if d.program.name == "Valkey" {
		name = strings.Replace(name, "redis", "valkey", 1)
	}
	path, err := d.toolPath(ctx, name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = append([]string{name}, args...)
	cmd.Dir = d.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.owner.Credential()}
	cmd.Stdin = strings.NewReader("y\n") // the answer to the question before it truncates a file
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", fmt.Errorf("redisserver: %s: %w", name, ctx.Err())
	}
	return string(out), err
}

// toolPath returns the program that is a checking tool when it is called by that name.
func (d *Diagnosis) toolPath(ctx context.Context, name string) (string, error) {
	probe := exec.CommandContext(ctx, d.program.path)
	probe.Args = []string{name, "--version"}
	out, _ := probe.CombinedOutput() // some tools interpret it as a file name
	if ctx.Err() != nil {
		return "", fmt.Errorf("redisserver: %s: %w", name, ctx.Err())
	}
	if !strings.Contains(strings.ToLower(string(out)), "server v=") {
		return d.program.path, nil
	}
	path, err := exec.LookPath(name) // it answered as the server
	if err != nil {
		return "", fmt.Errorf("redisserver: %s, which checks the files, is neither %s nor on PATH; install it, or name the server itself in RETWIS_REDIS_SERVER", name, d.program.path)
	}
	return path, nil
}

var analysis = regexp.MustCompile(`AOF analyzed:.* size=(\d+), ok_up_to=(\d+),`)

// parseAnalysis parses the output of check-aof: the size of a file, and how much of it is
// valid.
func parseAnalysis(out string) (size, valid int64, ok bool) {
	match := analysis.FindStringSubmatch(out)
	if match == nil {
		return 0, 0, false
	}
	size, err := strconv.ParseInt(match[1], 10, 64)
	valid, err2 := strconv.ParseInt(match[2], 10, 64)
	return size, valid, err == nil && err2 == nil
}

// lastDetail returns the description of the damage in the output of a tool.
func lastDetail(out string) string {
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(out), "\n")) {
		if _, detail, ok := strings.Cut(line, "[offset "); ok {
			return "at byte " + strings.Replace(detail, "]", ":", 1)
		}
	}
	return "it cannot be read"
}

// describeDamage describes the bytes after the valid part of a file.
func describeDamage(path string, valid, size int64) string {
	file, err := os.Open(path)
	if err != nil {
		return "damaged"
	}
	defer file.Close()
	block := make([]byte, 64<<10)
	zeros := true
	for at := valid; at < size && zeros; at += int64(len(block)) {
		n, err := file.ReadAt(block, at)
		zeros = len(bytes.Trim(block[:n], "\x00")) == 0
		if err != nil {
			break
		}
	}
	if zeros {
		return fmt.Sprintf("zeros from byte %d to its end, as a power cut leaves them", valid)
	}
	return fmt.Sprintf("damaged or incomplete from byte %d on", valid)
}

// countCommands counts the beginnings of commands after an offset in a file.
func countCommands(path string, from int64) (int64, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("redisserver: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return 0, fmt.Errorf("redisserver: %w", err)
	}
	var n int64
	block := make([]byte, 0, 1<<20)
	for {
		read, err := file.Read(block[len(block):cap(block)])
		block = block[:len(block)+read]
		last := 0
		for _, at := range commandStart.FindAllIndex(block, -1) {
			n++
			last = at[1]
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("redisserver: %w", err)
		}
		// The end of the block can split a beginning.
		keep := max(last, len(block)-maxCommandStart)
		block = block[:copy(block[:cap(block)], block[keep:])]
	}
}

// commandStart is the beginning of a command: the number of its arguments, and the length
// of the first.
var commandStart = regexp.MustCompile(`\*[0-9]{1,10}\r\n\$[0-9]{1,10}\r\n`)

const maxCommandStart = 26
