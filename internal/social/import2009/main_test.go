package import2009_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social/import2009"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// article returns the commands that write the database of the case study of 2009: the values in the
// text and a few entries that the programs of the case study would have added.
func article() [][]string {
	const secret = "fea5e81ac8ca77622bed1c2132a021f9"
	return [][]string{
		{"SET", "global:nextUserId", "1001"},
		{"SET", "uid:1000:username", "antirez"},
		{"SET", "uid:1000:password", "p1pp0"},
		{"SET", "uid:1000:auth", secret},
		{"SET", "username:antirez:uid", "1000"},
		{"SET", "auth:" + secret, "1000"},
		{"SET", "uid:1001:username", "pippo"},
		{"SET", "uid:1001:password", "s3cret"},
		{"SET", "username:pippo:id", "1001"}, // as in login.php
		{"SADD", "uid:1000:following", "1001"},
		{"SADD", "uid:1001:followers", "1000"},
		{"SET", "global:nextPostId", "10344"},
		{"SET", "post:10343", "1000|1258000000|I'm having fun with Retwis"},
		{"SET", "post:10344", "1001|1258000060|a|b||c"},
		{"LPUSH", "uid:1000:posts", "10343", "10344"},
		{"LPUSH", "uid:1001:posts", "10344"},
		{"LPUSH", "global:timeline", "10343", "10344"},
	}
}

// damaged returns the commands of article and commands that write unreadable entries.
func damaged() [][]string {
	return append(article(), [][]string{
		{"SET", "uid:7:password", "nameless"},
		{"LPUSH", "uid:8:username", "a list"},
		{"SET", "uid:9:username", ""},
		{"SET", "uid:10:username", strings.Repeat("x", 300)},
		{"SET", "uid:11:username", "bell\a"},
		{"SET", "uid:x:username", "not a number"},
		{"SET", "uid:99999999999999999:username", "too large"},
		{"SET", "uid:12:username", "antirez"}, // the name leads to 1000
		{"SET", "uid:12:password", "intruder"},
		{"SET", "uid:13:username", "Pippo"}, // the same name in another case
		{"SET", "uid:13:password", "other"},
		{"SET", "uid:14:username", "José the 1st."}, // no longer a valid name
		{"SET", "uid:14:password", "olé"},
		{"SADD", "uid:77:following", "1000"},
		{"SADD", "uid:1000:followers", "77", "x", "1000", "14"}, // following of user 14 is missing
		{"SET", "uid:1001:following", "a string"},
		{"SET", "post:1", "no bars"},
		{"SET", "post:2", "1000|one bar"},
		{"SET", "post:3", "1000|yesterday|bad time"},
		{"SET", "post:4", "55|1258000000|by nobody"},
		{"SET", "post:5", "1000|1258000000|" + strings.Repeat("x", 300<<10)},
		{"LPUSH", "post:6", "a list"},
		{"SET", "post:20000", "x"}, // beyond the counter
		{"RPUSH", "uid:1000:posts", "1", "6", "99", "x", "10343"},
		{"RPUSH", "global:timeline", "4", "10343", "10344"},
	}...)
}

// fixtures holds the databases whose in-place conversion is recorded in testdata.
var fixtures = map[string]func() [][]string{
	"article": article,
	"damaged": damaged,
	"without-counters": func() [][]string {
		return slices.DeleteFunc(article(), func(command []string) bool { return strings.HasPrefix(command[1], "global:") })
	},
}

// bundle is an application on the target of an import.
type bundle struct{ *socialtest.Bundle }

func on(t testing.TB, client rueidis.Client) *bundle { return &bundle{socialtest.On(t, client)} }

// source returns a new database that was filled by the commands.
func source(t testing.TB, commands [][]string) rueidis.Client {
	t.Helper()
	client := redistest.DB(t).Client(t)
	fill(t, client, commands)
	return client
}

func fill(t testing.TB, client rueidis.Client, commands [][]string) {
	t.Helper()
	var cmds rueidis.Commands
	for _, command := range commands {
		cmds = append(cmds, client.B().Arbitrary(command[0]).Keys(command[1]).Args(command[2:]...).Build())
	}
	for _, res := range client.DoMulti(t.Context(), cmds...) {
		if err := res.Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// importFrom returns an import of a source into b.
func (b *bundle) importFrom(source rueidis.Client) import2009.Import {
	return import2009.Import{Source: source, Name: "redis://old", Target: b.DB, App: b.App, Log: socialtest.Quiet()}
}

// dump returns the contents of a database, one line per key.
func dump(t testing.TB, client rueidis.Client) []string {
	t.Helper()
	ctx, b := context.Background(), client.B()
	keys, err := client.Do(ctx, b.Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		kind, err := client.Do(ctx, b.Type().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		read := map[string][]string{
			"string": {"GET", key}, "hash": {"HGETALL", key}, "list": {"LRANGE", key, "0", "-1"},
			"set": {"SMEMBERS", key}, "zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"}, "stream": {"XRANGE", key, "-", "+"},
		}[kind]
		res := client.Do(ctx, b.Arbitrary(read[0]).Keys(key).Args(read[2:]...).Build())
		var content string
		switch kind {
		case "string":
			content, err = res.ToString()
		case "hash":
			var fields map[string]string
			fields, err = res.AsStrMap()
			content = fmt.Sprint(fields)
		case "set":
			var members []string
			members, err = res.AsStrSlice()
			slices.Sort(members)
			content = fmt.Sprintf("%q", members)
		case "zset":
			var members []rueidis.ZScore
			members, err = res.AsZScores()
			content = fmt.Sprint(members)
		case "list":
			var values []string
			values, err = res.AsStrSlice()
			content = fmt.Sprintf("%q", values)
		default:
			content = kind
		}
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		lines = append(lines, fmt.Sprintf("%q %s %q", key, kind, content))
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return lines
}
