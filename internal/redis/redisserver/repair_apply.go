package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// repairTimeout bounds the time to load a repaired directory.
const repairTimeout = time.Hour

// Repair executes the plan of a diagnosis in place; the caller has made a copy. It starts a
// server on the result and returns the number of keys. A server ignores some damage that its
// checking tool reports; then nothing is removed, and whole is true: the server has rewritten
// its files.
func (d *Diagnosis) Repair(ctx context.Context, log *slog.Logger) (keys int64, whole bool, err error) {
	if d.cut != "" && !d.manifest {
		keys, err := d.load(ctx, log, "aof-load-truncated no")
		if err == nil || !errors.Is(err, ErrDamaged) {
			return keys, err == nil, err
		}
	}
	if err := d.cutOff(ctx); err != nil {
		return 0, false, err
	}
	keys, err = d.load(ctx, log, "aof-load-truncated yes")
	return keys, false, err
}

// cutOff truncates and removes the files of the plan.
func (d *Diagnosis) cutOff(ctx context.Context) error {
	if d.cut != "" {
		out, err := d.tool(ctx, "check-aof", "--fix", d.cut)
		if err != nil {
			return fmt.Errorf("redisserver: cut %s: %w: %s", d.cut, err, lastLine(out))
		}
		if size := d.fileSize(d.cut); size != d.size {
			return fmt.Errorf("redisserver: cut %s: it has %d bytes now, %d were expected", d.cut, size, d.size)
		}
	}
	if d.manifest {
		if err := d.writeManifest(); err != nil {
			return err
		}
	}
	for _, name := range d.remove {
		// The next server would append to a file of that name.
		if err := os.Remove(filepath.Join(d.Dir, name)); err != nil {
			return fmt.Errorf("redisserver: %w", err)
		}
	}
	return syncPath(filepath.Join(d.Dir, aofDir))
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// writeManifest writes the manifest of the parts that remain.
func (d *Diagnosis) writeManifest() error {
	var text strings.Builder
	for i, name := range d.parts {
		base, kind, seq := filepath.Base(name), "i", "1"
		if i == 0 && !strings.Contains(base, ".incr.") {
			kind = "b"
		}
		if match := partName.FindStringSubmatch(base); match != nil {
			seq = match[1]
		}
		fmt.Fprintf(&text, "file %s seq %s type %s\n", base, seq, kind)
	}
	path := filepath.Join(d.Dir, aofDir, manifestName)
	if err := d.writeNew(path+".new", text.String()); err != nil {
		return fmt.Errorf("redisserver: write the manifest: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("redisserver: write the manifest: %w", err)
	}
	return nil
}

// writeNew writes a file for the owner of the directory, and syncs it. It follows no link:
// root may be writing in the directory of another user.
func (d *Diagnosis) writeNew(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, d.owner.GiveFile(file), file.Sync(), file.Close())
}

// load starts a server on the directory, makes it rewrite its append-only file, and counts
// the keys.
func (d *Diagnosis) load(ctx context.Context, log *slog.Logger, truncated string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	// On a private socket, so that no process finds this server.
	private, err := os.MkdirTemp("", "retwis")
	if err != nil {
		return 0, fmt.Errorf("redisserver: %w", err)
	}
	defer os.RemoveAll(private)
	if err := d.owner.Give(private); err != nil {
		return 0, err
	}
	opt := Options{Dir: d.Dir, Socket: filepath.Join(private, "s"), Binary: d.program.path, Logger: log, Config: []string{"appendonly yes", "aof-use-rdb-preamble yes", `save ""`, truncated}}
	anew := "BGREWRITEAOF"
	if d.snapshot {
		opt.Config[0], anew = "appendonly no", "CONFIG SET appendonly yes"
	}
	s, err := Start(ctx, opt)
	if err != nil {
		return 0, err
	}
	var keys int64
	answer, err := s.ask(anew)
	if err == nil && !bytes.HasPrefix(answer, []byte("+")) {
		err = fmt.Errorf("redisserver: rewrite the append-only file: %s", bytes.TrimSpace(answer))
	}
	if err == nil {
		err = s.rewritten(ctx)
	}
	if err == nil {
		keys, err = s.keys()
	}
	return keys, errors.Join(err, s.Stop(ctx))
}

var keyspace = regexp.MustCompile(`(?m)^db\d+:keys=(\d+)`)

// keys counts the keys of all databases.
func (s *Server) keys() (int64, error) {
	info, err := s.ask("INFO keyspace")
	if err != nil {
		return 0, fmt.Errorf("redisserver: count the keys: %w", err)
	}
	var keys int64
	for _, match := range keyspace.FindAllSubmatch(info, -1) {
		n, _ := strconv.ParseInt(string(match[1]), 10, 64)
		keys += n
	}
	return keys, nil
}
