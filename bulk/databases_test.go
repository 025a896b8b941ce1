package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// stored returns the string keys in the first ten databases of a server: "0:a=1 3:b=2".
func stored(t *testing.T, c rueidis.Client) string {
	t.Helper()
	const script = `local out = {}
		for db = 0, 9 do
			redis.call('SELECT', db)
			local keys = redis.call('KEYS', '*')
			table.sort(keys)
			for _, key in ipairs(keys) do out[#out + 1] = db .. ':' .. key .. '=' .. redis.call('GET', key) end
		end
		return out`
	found, err := c.Do(context.Background(), c.B().Eval().Script(script).Numkeys(0).Build()).AsStrSlice()
	require.OK(t)(err)
	return strings.Join(found, " ")
}

// variants returns named Options for loads into a single server.
func variants() map[string]Options {
	return map[string]Options{
		"one connection":    {},
		"three connections": {Connections: 3},
		"coalesced":         {Coalesce: true},
		"small":             {MaxInflight: 64 << 10, Connections: 2, Coalesce: true},
		"resend always":     {Resend: ResendAlways},
	}
}

// aof is an append-only file as written by Redis 7.2 and newer and by Valkey: a script or a
// transaction begins with MULTI, followed by SELECT; with aof-timestamp-enabled it has
// annotations.
const aof = `#TS:1795308651
MULTI
SELECT 3
SET a 1
SET b 2
EXEC
SET c 3
#TS:1795308652
MULTI
SELECT 0
SET a 4
#TS:1795308653
INCR a
EXEC
SELECT 7
SET d 5
MULTI
SET e 6
SELECT 5
SET p 1
SET q 1
SELECT 6
SET q 2
EXEC
SET after 7
MULTI
SELECT 2
SET never 1
DISCARD
SET discarded 8
`

// protocol encodes lines of commands in the protocol; a line that begins with # is an annotation.
func protocol(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			out.WriteString(strings.TrimSuffix(line, "\n") + "\r\n")
			continue
		}
		var args []any
		for _, word := range strings.Fields(line) {
			args = append(args, word)
		}
		out.Write(encode(t, args))
	}
	return out.Bytes()
}

func TestAppendOnlyFile(t *testing.T) {
	t.Parallel()
	const want = "0:a=5 3:a=1 3:b=2 3:c=3 5:p=1 5:q=1 6:after=7 6:discarded=8 6:q=2 7:d=5 7:e=6"
	s := redistest.Own(t)
	for name, opt := range variants() {
		t.Run(name, func(t *testing.T) {
			flush(t, []*redistest.Server{s})
			report := load(t, s.URL(), protocol(t, aof), opt)
			if n := int64(strings.Count(aof, "\n") - strings.Count(aof, "#")); report.Commands != n || report.Replies != n || report.Errors != 0 {
				t.Errorf("report: %+v, want %d commands and replies and no errors", report, n)
			}
			if got := stored(t, s.Client(t)); got != want {
				t.Errorf("stored\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestDatabasesAgainstModel loads random commands, transactions and database selections, and
// compares the result with a map. A command that fails in a transaction, or aborts the transaction,
// does not change the database of the following commands.
func TestDatabasesAgainstModel(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	c := s.Client(t)
	rapid.Check(t, func(r *rapid.T) {
		do(t, c, "FLUSHALL")
		model := map[string]int{}
		var text strings.Builder
		db, serial := 0, 0
		// command adds a random command to text. It returns a function that applies the command to
		// the model, and whether the command aborts a transaction.
		command := func(label string) (apply func(), aborts bool) {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "key")
			serial++
			value := serial
			switch rapid.IntRange(0, 9).Draw(r, label) {
			case 0, 1, 2:
				db := rapid.IntRange(0, 4).Draw(r, "db")
				fmt.Fprintf(&text, "SELECT %d\n", db)
				return func() { model["db"] = db }, false
			case 3:
				fmt.Fprintf(&text, "LLEN %s\n", key) // fails if the key is a string
				return func() {}, false
			case 4:
				text.WriteString("GET\n")
				return func() {}, true
			case 5:
				fmt.Fprintf(&text, "DEL %s\n", key)
				return func() { delete(model, fmt.Sprint(model["db"], ":", key)) }, false
			}
			fmt.Fprintf(&text, "SET %s %d\n", key, value)
			return func() { model[fmt.Sprint(model["db"], ":", key)] = value }, false
		}
		model["db"] = db
		for range 5 {
			for _, key := range []string{"a", "b", "c"} {
				fmt.Fprintf(&text, "SELECT %d\nSET %s 0\n", db, key)
				model[fmt.Sprint(db, ":", key)] = 0
			}
			db++
		}
		text.WriteString("SELECT 0\n")
		for range rapid.IntRange(0, 20).Draw(r, "steps") {
			if rapid.IntRange(0, 2).Draw(r, "transaction") > 0 {
				apply, _ := command("command")
				apply()
				continue
			}
			text.WriteString("MULTI\n")
			var applies []func()
			aborted := false
			for range rapid.IntRange(0, 5).Draw(r, "size") {
				apply, aborts := command("in transaction")
				applies, aborted = append(applies, apply), aborted || aborts
			}
			if rapid.IntRange(0, 4).Draw(r, "discard") == 0 {
				text.WriteString("DISCARD\n")
				continue
			}
			text.WriteString("EXEC\n")
			before := maps.Clone(model)
			for _, apply := range applies {
				apply()
			}
			if aborted { // the last SELECT still applies to the following commands
				last := model["db"]
				model = before
				model["db"] = last
			}
		}
		opt := Options{
			Connections: rapid.IntRange(1, 3).Draw(r, "connections"), Coalesce: rapid.Bool().Draw(r, "coalesce"), Format: Commands,
		}
		report, err := loadURL(context.Background(), s.URL(), strings.NewReader(text.String()), opt)
		if err != nil || report.Replies != report.Commands || report.Commands != int64(strings.Count(text.String(), "\n")) {
			r.Fatalf("load: %v, want one reply per command; report: %+v", err, report)
		}
		delete(model, "db")
		var want []string
		for _, key := range slices.Sorted(maps.Keys(model)) {
			want = append(want, fmt.Sprint(key, "=", model[key]))
		}
		if got := stored(t, c); got != strings.Join(want, " ") {
			r.Fatalf("with %+v, the commands\n%sstored\n%s, want\n%s", opt, text.String(), got, strings.Join(want, " "))
		}
	})
}

// TestSelectInTransactionServerKilled kills and restarts the server during a load of transactions
// that select databases.
func TestSelectInTransactionServerKilled(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	n := redistest.Cases(400, 2000)
	for i := range n {
		fmt.Fprintf(&text, "MULTI\nSELECT %d\nSET a%d %d\nSELECT %d\nSET b%d %d\nEXEC\nSET c %d\n", i%5, i%7, i, (i+3)%8, i%7, i, i)
	}
	input := protocol(t, text.String())
	undisturbed := redistest.Own(t)
	load(t, undisturbed.URL(), input, Options{})
	want := stored(t, undisturbed.Client(t))
	for name, opt := range map[string]Options{"one": {}, "three": {Connections: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t, durable(t)...)
			r := &hook{r: bytes.NewReader(input), offsets: thirds(input), do: func(int) { s.Restart(t, true) }}
			report, err := loadURL(context.Background(), s.URL(), r, opt)
			if err != nil || report.Errors != 0 || report.Replies != int64(7*n) {
				t.Fatalf("load: %v, want %d replies and no errors; report: %+v", err, 7*n, report)
			}
			if got := stored(t, s.Client(t)); got != want {
				t.Errorf("stored\n%s, want as without a restart\n%s", got, want)
			}
		})
	}
}

// TestFailedSelect checks that a load stops at a SELECT of a database that the server does not
// have, because the following commands would go to another database.
func TestFailedSelect(t *testing.T) {
	t.Parallel()
	s, larger := redistest.Own(t), redistest.Own(t, "databases 32")
	for kind, text := range map[string]string{
		"plain":          "SELECT 1\nSET a 1\nSELECT 20\nSET b 2\nSET c 3\n",
		"in transaction": "SELECT 1\nSET a 1\nMULTI\nSET x 1\nSELECT 20\nSET b 2\nEXEC\nSET c 3\n",
	} {
		for name, opt := range variants() {
			t.Run(kind+", "+name, func(t *testing.T) {
				flush(t, []*redistest.Server{s, larger})
				var failedCommands bytes.Buffer
				opt.ErrorsTo = &failedCommands
				opt.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
				report, err := loadURL(context.Background(), s.URL(), strings.NewReader(text), opt)
				if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "(SELECT 20, line ") || !strings.Contains(err.Error(), "database 1") ||
					!strings.Contains(err.Error(), "DB index is out of range") {
					t.Errorf("load: %v, want ErrFailed for SELECT 20; report: %+v", err, report)
				}
				if got := stored(t, s.Client(t)); got != "1:a=1" {
					t.Errorf("stored %s, want 1:a=1", got)
				}
				if kind == "plain" && (report.Errors != 1 || report.Replies != 3 || len(report.Failures) != 1 || report.Failures[0].Text != "SELECT 20") {
					t.Errorf("report: %+v, want 3 replies and the failure SELECT 20", report)
				}
				if found, _, err := scanAll(&failedCommands); err != nil || len(found) > 0 {
					t.Errorf("ErrorsTo has %q, %v; want nothing", found, err)
				}
				// A server that has the database accepts the remaining commands, from the
				// checkpoint.
				opt.ErrorsTo = nil
				report = load(t, larger.URL(), []byte(text), opt)
				c := larger.Client(t)
				if got := stored(t, c); report.Errors != 0 || kind == "plain" && got != "" || kind != "plain" && got != "1:x=1" {
					t.Errorf("stored %q, %+v", got, report)
				}
				if got := do(t, c, "INFO", "keyspace"); !strings.Contains(got, "db20:keys=2,") {
					t.Errorf("INFO keyspace = %q, want 2 keys in database 20", got)
				}
			})
		}
	}
}

// TestFailedCommandsKeepDatabase checks that ErrorsTo selects the database of each failed command.
func TestFailedCommandsKeepDatabase(t *testing.T) {
	t.Parallel()
	const text = "SET a x\nINCR a\nSELECT 3\nSET a x\nINCR a\nINCR a\nSELECT 0\nINCR a\nMULTI\nSELECT 4\nSET a x\nINCR a\nSELECT 5\nEXEC\n" +
		"SET a x\nINCR a\nMULTI\nSELECT 6\nSET a\nEXEC\nSET last x\nINCR last\n"
	s := redistest.Own(t)
	var failedCommands bytes.Buffer
	report := load(t, s.URL(), []byte(text), Options{ErrorsTo: &failedCommands})
	if report.Errors != 9 {
		t.Errorf("report: %+v, want 9 errors", report)
	}
	found, _, err := scanAll(bytes.NewReader(failedCommands.Bytes()))
	want := "INCR|a SELECT|3 INCR|a INCR|a SELECT|0 INCR|a SELECT|4 INCR|a SELECT|5 INCR|a MULTI SELECT|6 SET|a EXEC SELECT|6 INCR|last"
	if got := strings.Join(found, " "); err != nil || got != want {
		t.Errorf("ErrorsTo has\n%s, want\n%s (%v)", got, want, err)
	}
}

// TestSeveralConnectionsSwapOnce checks that a load over several connections executes a server-wide
// command once.
func TestSeveralConnectionsSwapOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	report := load(t, s.URL(), []byte("SET a 1\nSWAPDB 0 1\nSET b 2\nMULTI\nFLUSHALL\nSET c 3\nEXEC\nSET d 4\nSWAPDB 0 2\n"), Options{Connections: 3})
	if got := stored(t, s.Client(t)); got != "2:c=3 2:d=4" || report.Errors != 0 || report.Replies != 9 {
		t.Errorf("stored %s, want 2:c=3 2:d=4; report: %+v", got, report)
	}
}

// testOneDatabase loads append-only files into a Cluster, which has only database 0.
func testOneDatabase(t *testing.T, c *redistest.ClusterServers) {
	url := urlOf(c)
	input := protocol(t, "#TS:1795308651\nMULTI\nSELECT 0\nSET {1}a 1\nSET {1}b 2\nEXEC\nSET c 3\nSELECT 0\nSET d 4\n")
	if report := load(t, url, input, Options{}); report.Errors != 0 || report.Replies != 8 {
		t.Errorf("report: %+v, want 8 replies and no errors", report)
	}
	if got := union(t, c.Masters); got != "map[c:3 d:4 {1}a:1 {1}b:2]" {
		t.Errorf("the Cluster holds %s, want c, d, {1}a and {1}b", got)
	}
	// A command that goes to all servers and fails on each is one error.
	if report := load(t, url, []byte("SCRIPT NOSUCH\nGET c\n"), Options{}); report.Errors != 1 || report.Replies != 2 {
		t.Errorf("report: %+v, want 1 error and 2 replies", report)
	}
	for _, text := range []string{"MULTI\nSELECT 3\nSET {1}a 9\nEXEC\nSET c 9\n", "SELECT 3\nSET c 9\n"} {
		_, err := loadURL(context.Background(), url, bytes.NewReader(protocol(t, text)), Options{})
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "SELECT 3") {
			t.Errorf("load: %v, want ErrFailed for SELECT 3", err)
		}
	}
	if got := union(t, c.Masters); got != "map[c:3 d:4 {1}a:1 {1}b:2]" {
		t.Errorf("the Cluster holds %s, want c, d, {1}a and {1}b", got)
	}
}

// TestCommandsOfConnections loads commands that clients send when they connect.
func TestCommandsOfConnections(t *testing.T) {
	t.Parallel()
	for name, opt := range variants() {
		db := redistest.DB(t)
		report := load(t, db.URL(), []byte("CLIENT SETNAME loader\nHELLO 2\nCLIENT ID\nSET a 1\n"), opt)
		if report.Errors != 0 || report.Replies != 4 || do(t, db.Client(t), "GET", "a") != "1" {
			t.Errorf("%s: report: %+v, want 4 replies and no errors", name, report)
		}
	}
}
