package input

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retwis/bulk/resp"
	"retwis/internal/require"
)

// rdbOf returns a snapshot of the given encoded keys.
func rdbOf(keys ...string) string {
	return "REDIS0009" + strings.Join(keys, "") + "\xff" + strings.Repeat("\x00", 8) // without a checksum
}

// rdbText encodes a short string.
func rdbText(text string) string { return string([]byte{byte(len(text))}) + text }

// rdbString encodes a string key, which expires unless the time is zero.
func rdbString(key, value string, expires time.Time) string {
	head := ""
	if !expires.IsZero() {
		head = "\xfc" + string(binary.LittleEndian.AppendUint64(nil, uint64(expires.UnixMilli())))
	}
	return head + "\x00" + rdbText(key) + rdbText(value)
}

// rdbSet encodes a set key with n members.
func rdbSet(key string, n int) string {
	var b strings.Builder
	b.WriteString("\x02" + rdbText(key) + "\x80" + string(binary.BigEndian.AppendUint32(nil, uint32(n))))
	for i := range n {
		b.WriteString(rdbText(fmt.Sprintf("member %08d", i)))
	}
	return b.String()
}

// openText opens text as an input with a digest.
func openText(t *testing.T, text string, opt Options) (*Input, error) {
	t.Helper()
	opt.Digest = true
	file := File{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	in, err := Open([]File{file}, opt, new(atomic.Int64), Wait(t.Context(), func() error { return nil }))
	if err == nil {
		t.Cleanup(in.Close)
	}
	return in, err
}

// digestOf returns the digest of text in hex.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestResumeSnapshot checks that a load resumes after any key of a snapshot, even if keys have
// expired since.
func TestResumeSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Hour)
		text := rdbOf(rdbString("a", "1", time.Time{}), rdbString("b", "2", soon), rdbString("c", "3", soon), rdbString("d", "4", time.Time{}),
			rdbString("e", "5", soon), rdbString("f", "6", time.Time{}))
		read := func(start *Start) (keys []string, ends []Start) {
			in, err := openText(t, text, Options{Start: start})
			if err != nil {
				t.Fatalf("from %+v: %v", start, err)
			}
			defer in.Close()
			for f := new(resp.Frame); ; {
				_, err := in.Next(f)
				if errors.Is(err, io.EOF) {
					return keys, ends
				}
				require.OK(t)(err)
				keys = append(keys, string(f.Arg(1)))
				if end, ok := in.End(); ok {
					ends = append(ends, Start{end, in.Digest.Sum(end.Offset)})
				}
			}
		}
		keys, ends := read(nil)
		if len(keys) != 6 || len(ends) != 6 {
			t.Fatalf("read the keys %q with the ends %+v, want 6 of each", keys, ends)
		}
		time.Sleep(2 * time.Hour)
		for i, end := range ends {
			want := slices.DeleteFunc(slices.Clone(keys[i+1:]), func(key string) bool { return key == "b" || key == "c" || key == "e" })
			if rest, _ := read(&end); !slices.Equal(rest, want) {
				t.Errorf("resumed after %s: %q, want %q", keys[i], rest, want)
			}
		}
	})
}

// TestDigestOfLargeKey checks that the digest of a large key, and of the data that a resumed load
// skips, is computed while reading instead of keeping the data.
func TestDigestOfLargeKey(t *testing.T) {
	t.Parallel()
	text := rdbOf(rdbString("a", "1", time.Time{}), rdbSet("large", 500_000), rdbString("b", "2", time.Time{}))
	in, err := openText(t, text, Options{})
	require.OK(t)(err)
	maxPending, last := 0, Where{}
	for f := new(resp.Frame); ; {
		if _, err := in.Next(f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		end, ok := in.End()
		if ok {
			last = end
		}
		maxPending = max(maxPending, len(in.Digest.pending))
		if ok || last.Offset > 0 && end.Offset%7 == 0 { // as at the end of a load
			if got, want := in.Digest.Sum(last.Offset), digestOf(text[:last.Offset]); got != want {
				t.Fatalf("the digest up to %d, read up to %d, is %s, want %s", last.Offset, end.Offset, got, want)
			}
		}
	}
	resumed, err := openText(t, text, Options{Start: &Start{last, digestOf(text[:last.Offset])}})
	require.OK(t)(err)
	maxPending = max(maxPending, cap(resumed.Digest.pending))
	if last.Offset < 7<<20 || maxPending > 3<<20 {
		t.Errorf("%d bytes of %d were kept, want at most 3 MiB of at least 7 MiB", maxPending, last.Offset)
	}
}

// TestDigestOfSkipped checks that skipped data is not kept: expired keys, records without a
// field, and bad records.
func TestDigestOfSkipped(t *testing.T) {
	t.Parallel()
	do, err := ParseTemplate("SET {id} {name}")
	require.OK(t)(err)
	records := Options{Do: []*Template{do}, SkipIfMissing: []string{"name"}, SkipBad: func(*BadRecord) error { return nil }}
	const n = 150_000
	expired := strings.Repeat(rdbString("expired", "a long value", time.Unix(1, 0)), n)
	for name, test := range map[string]struct {
		text string
		opt  Options
	}{
		"keys":    {rdbOf(rdbString("a", "1", time.Time{}), expired, rdbString("b", "2", time.Time{}), expired), Options{}},
		"large":   {rdbOf(rdbString("a", "1", time.Time{}), "\xfd\x01\x00\x00\x00"+rdbSet("expired", 2*n), rdbString("b", "2", time.Time{})), Options{}},
		"records": {"id,name,text\n1,a,\n" + strings.Repeat("2,,a long text without a name\n", n) + "3,b,\n" + strings.Repeat("2,,a text\n", n), records},
		"bad":     {"{\"id\":1,\"name\":\"a\"}\n" + strings.Repeat("something else than JSON\n", 2*n) + "{\"id\":2,\"name\":\"b\"}", records},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := openText(t, test.text, test.opt)
			require.OK(t)(err)
			last, commands := Where{}, 0
			check := func() {
				if got, want := in.Digest.Sum(last.Offset), digestOf(test.text[:last.Offset]); got != want {
					t.Errorf("the digest up to %d is %s, want %s", last.Offset, got, want)
				}
			}
			for f := new(resp.Frame); ; commands++ {
				if _, err := in.Next(f); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				last, _ = in.End()
				check()
			}
			check() // as at the end of a load
			if kept := cap(in.Digest.pending); commands != 2 || len(test.text) < 4<<20 || kept > 3<<20 {
				t.Errorf("%d commands, want 2; %d bytes of %d were kept, want at most 3 MiB", commands, kept, len(test.text))
			}
		})
	}
}

// TestInterruptedResume checks that a resumed input stops while it skips data if Interrupted
// returns an error.
func TestInterruptedResume(t *testing.T) {
	t.Parallel()
	for _, text := range []string{rdbOf(rdbSet("large", 100_000)), strings.Repeat("PING\n", 1_000_000)} {
		reads := 0
		interrupted := func() error {
			if reads++; reads > 3 {
				return context.Canceled
			}
			return nil
		}
		format := RDB
		if text[0] == 'P' {
			format = Commands
		}
		end := int64(len(text) - 20)
		_, err := openText(t, text, Options{Interrupted: interrupted, Start: &Start{Where{Position: Position{Offset: end}, Format: format}, digestOf(text[:end])}})
		if !errors.Is(err, context.Canceled) || reads != 4 {
			t.Errorf("%s: %v after %d reads, want context.Canceled after 4", format, err, reads)
		}
	}
}
