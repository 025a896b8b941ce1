package bulk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"retwis/internal/require"
)

// compressed returns two concatenated compressed streams of the input, by compression format.
func compressed(t *testing.T, input string) map[string]string {
	t.Helper()
	var gz, zst bytes.Buffer
	for range 2 {
		g := gzip.NewWriter(&gz)
		z, err := zstd.NewWriter(&zst, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		require.OK(t)(err)
		for _, w := range []io.WriteCloser{g, z} {
			require.OK(t)(io.WriteString(w, input))
			require.OK(t)(w.Close())
		}
	}
	return map[string]string{"gzip": gz.String(), "zstd": zst.String()}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	input := strings.Repeat("SET key value\nINCR number\n", lines/2)
	for name, packed := range compressed(t, input) {
		got, report, err := emitted(packed, Options{})
		if err != nil || len(got) != 2*lines || report.Input != int64(len(packed)) {
			t.Errorf("%s: emitted %d commands, %v; want %d; report: %+v", name, len(got), err, 2*lines, report)
		}
		// Truncated data is an error.
		for _, cut := range []int{5, len(packed) / 3, len(packed) - 1} {
			got, _, err := emitted(packed[:cut], Options{Format: Commands})
			var inputErr *InputError
			if !errors.As(err, &inputErr) || !strings.Contains(err.Error(), "the "+name+" data is truncated") {
				t.Errorf("%s, cut at %d: %v after %d commands, want an InputError about truncated data", name, cut, err, len(got))
			}
		}
	}
}

// TestForeignFiles checks that files of other kinds are rejected, whatever format is given, and
// that no command is emitted.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	command := "\nSET injected yes\n"
	protocol := "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$22\r\nx\r\nSET injected yes\r\n12\r\n"
	for name, test := range map[string]struct{ input, want string }{
		"zip":           {"PK\x03\x04\x14\x00" + command, "a zip archive; unpack it: unzip -p"},
		"xz":            {"\xfd7zXZ\x00" + command, "xz -dc"},
		"bzip2":         {"BZh91AY&SY" + command, "bzip2 -dc"},
		"lz4":           {"\x04\x22\x4d\x18@p" + command, "lz4 -dc"},
		"7z":            {"7z\xbc\xaf\x27\x1c" + command, "7z x -so"},
		"UTF-16LE":      {"\xff\xfeS\x00E\x00T\x00" + command, "iconv -f UTF-16 -t UTF-8"},
		"UTF-16BE":      {"\xfe\xff\x00S\x00E\x00T" + command, "iconv -f UTF-16 -t UTF-8"},
		"Parquet":       {"PAR1\x15\x04" + command, "a Parquet file"},
		"RDB":           {"REDIS0010\xfa\tredis-ver" + command, "snapshot (RDB)"},
		"Valkey's RDB":  {"VALKEY080\xfa\tvalkey-ver" + command, "snapshot (RDB)"},
		"no BOM":        {"S\x00E\x00T\x00 \x00a\x00" + command, "NUL bytes"},
		"binary":        {"SET a b" + command + "\x00\x01\x02", "line 3: the line has NUL bytes"},
		"inline first":  {"PING\r\n" + protocol, "line 2: \"*3\" looks like the Redis protocol, not a typed command; use the format resp"},
		"lines first":   {"PING\r\n$5\r\nSET injected yes\r\n", "line 2: \"$5\" looks like the Redis protocol"},
		"annotation":    {"PING\n#TS:1795308651\r\n" + protocol, "an annotation of an append-only file"},
		"CSV":           {"id,name\n1,Ada" + command, "\"id,name\" is not a known command"},
		"SQLite":        {"SQLite format 3\x00" + command, "a SQLite database; write its rows as CSV: sqlite3 -csv"},
		"Excel":         {"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml" + command, "a file of Excel or another Office program; save the sheet as CSV in UTF-8"},
		"old Excel":     {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + command, "a file of Excel"},
		"OpenDocument":  {"PK\x03\x04\x14\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheet" + command, "an OpenDocument spreadsheet"},
		"tar":           {"notes.txt" + strings.Repeat("\x00", 248) + "ustar\x0000" + command, "a tar archive; unpack it: tar -xOf FILE"},
		"PostgreSQL":    {"PGDMP\x01\x0e" + command, "psql -c"},
		"MongoDB":       {"\x6d\xe2\x99\x81" + command, "mongoexport --collection"},
		"snappy":        {"\xff\x06\x00\x00sNaPpY" + command, "snzip -dc"},
		"PDF":           {"%PDF-1.7" + command, "a PDF"},
		"Arrow":         {"ARROW1\x00\x00" + command, "an Arrow file"},
		"mail":          {"Dear Ada," + command, "\"Dear\" is not a known command"},
		"compressed xz": {compressed(t, "\xfd7zXZ\x00"+command)["gzip"], "xz -dc"},
	} {
		for _, format := range []Format{Auto, Commands, RESP} {
			if format == Commands && strings.Contains(test.want, "a known command") || format == RESP && !strings.Contains(test.want, " -") ||
				format == Commands && (name == "no BOM" || name == "binary" || strings.Contains(test.want, "line 2") || name == "annotation") {
				continue
			}
			got, report, err := emitted(test.input, Options{Format: format})
			var inputErr *InputError
			if !errors.As(err, &inputErr) || !strings.Contains(err.Error(), test.want) || len(got) > 0 || report.Commands > 0 {
				t.Errorf("%s as %q: %v after %q, want %s", name, format, err, got, test.want)
			}
		}
	}
	// Text that starts like a file of another kind is accepted.
	for _, text := range []string{"BZhang,1\n", "REDIRECT,1\n", "Rar!,1\n", "PAR1,1\n", "PK,1\n"} {
		got, _, err := emitted(text, Options{Do: []string{"SET {a} {b}"}, Columns: []string{"a", "b"}})
		if err != nil || len(got) != 1 {
			t.Errorf("%q: emitted %q, %v; want one command", text, got, err)
		}
	}
	// Later in the input, the load stops at the first such line.
	valid := strings.Repeat("SET a b\n", 2000)
	for _, line := range []string{protocol, "#TS:1795308651\r\n", "SET c \x00\n"} {
		if got, _, err := emitted(valid+line, Options{}); err == nil || !strings.Contains(err.Error(), "line 2001: ") || len(got) != 2000 {
			t.Errorf("%q: %v after %d commands, want an error for line 2001", line, err, len(got))
		}
	}
	for text, want := range map[string]string{
		"-- MySQL dump 10.13\n--\n":                "a dump of MySQL or MariaDB, in SQL; write the rows as TSV: mysql --batch",
		"/*M!999999\\- enable the sandbox mode */": "a dump of MySQL or MariaDB",
		"--\n-- PostgreSQL database dump\n--\n":    "psql -c",
		"PRAGMA foreign_keys=OFF;\nBEGIN":          "a dump of SQLite",
		"INSERT INTO a VALUES (1);":                "SQL; let the database write",
		"<?xml version=\"1.0\"?>":                  "XML; ",
		"\n<!DOCTYPE html>":                        "an HTML page",
		"---\nid: 1\n":                             "YAML; ",
	} {
		for _, opt := range []Options{{}, {Do: []string{"SET {id} 1"}}} {
			got, _, err := emitted(text, opt)
			if inputErr := (*InputError)(nil); !errors.As(err, &inputErr) || !strings.Contains(err.Error(), want) || len(got) > 0 {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
	}
	for _, text := range []string{"JSON.SET a $ 1\n", "set a b\n", "\n\n  PING\n", "subscribe x"} {
		if _, _, err := emitted(text, Options{}); err != nil && !strings.Contains(err.Error(), "makes no sense") {
			t.Errorf("%q: %v, want the text to be accepted as commands", text, err)
		}
	}
}

// TestReaderFails checks that Emit returns the error of a reader.
func TestReaderFails(t *testing.T) {
	t.Parallel()
	readErr := errors.New("read error")
	for _, head := range []string{"", "SET a b\n", "*1\r\n$4\r\nPI", "\x1f\x8b\x08\x00", "id,name\n1,"} {
		r := io.MultiReader(strings.NewReader(head), readFunc(func([]byte) (int, error) { return 0, readErr }))
		opt := Options{}
		if strings.Contains(head, ",") {
			opt.Do = []string{"SET {id} {name}"}
		}
		if _, err := Emit(context.Background(), io.Discard, opt, From(r)); !errors.Is(err, readErr) {
			t.Errorf("%q: %v, want %v", head, err, readErr)
		}
	}
}

// TestDamagedChecksum checks that a wrong checksum or a missing end of a compressed file is an
// error, even if only the last bytes of the last command show the damage.
func TestDamagedChecksum(t *testing.T) {
	t.Parallel()
	inputs := map[Format]string{RESP: "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n", Commands: "SET a 1\n"}
	for format, command := range inputs {
		for name, packed := range compressed(t, strings.Repeat(command, 2000)) {
			damaged := []byte(packed)
			damaged[len(damaged)-map[string]int{"gzip": 8, "zstd": 4}[name]] ^= 1
			for text, want := range map[string]string{string(damaged): " data is damaged", packed[:len(packed)-2]: " data is truncated"} {
				if _, _, err := emitted(text, Options{Format: format}); err == nil || !strings.Contains(err.Error(), name+want) {
					t.Errorf("%s in %s: %v, want %q", format, name, err, want)
				}
			}
		}
	}
}
