package check_test

import (
	"slices"
	"strings"
	"testing"

	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// Check finds names and tags that are missing from the completion index, and Repair adds the names
// and tags. Repair leaves a task of an unknown kind in the queue.
func TestCompletions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	b.NewUser("ben")
	b.Publish(ada, "about #tea and #go")
	index := b.Completions.Completion()
	if err := index.Rebuild(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.wantConsistent("a new database")
	for _, pattern := range []string{"{names}*", "{tags}*"} {
		for key := range strings.FieldsSeq(b.Redis("KEYS", pattern)) {
			b.Redis("DEL", key)
		}
	}
	b.Redis("ZADD", "tasks", "1", "teleport:1")
	var found []string
	if _, err := b.Check(check.Options{Report: func(p check.Problem) { found = append(found, p.Detail) }}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@ada", "@ben", "#tea", "#go"} {
		if !slices.Contains(found, want+" is missing from the completion index") {
			t.Errorf("check did not report %s: %q", want, found)
		}
	}
	b.repair()
	for prefix, want := range map[string]string{"ad": "ada", "be": "ben"} {
		if names, err := index.Names(b.Ctx, prefix, 5); err != nil || len(names) != 1 || names[0].Username != want {
			t.Errorf("Names(%s) = %v, %v; want %s", prefix, names, err, want)
		}
	}
	if tags, err := index.Tags(b.Ctx, "t", 5); err != nil || !slices.Equal(tags, []string{"tea"}) {
		t.Errorf("Tags(t) = %v, %v; want tea", tags, err)
	}
	if got := b.Redis("ZRANGE", "tasks", "0", "-1"); got != "teleport:1" {
		t.Errorf("tasks: %q, want teleport:1", got)
	}
}

// Check finds missing and wrong entries of the search index, and Repair repairs the index. Build
// creates the index of a database that predates the search.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	first, second := b.Publish(ada, "about tea"), b.Publish(ada, "about tea and rain")
	for key := range strings.FieldsSeq(b.Redis("KEYS", "{search*")) { // the database predates the search
		b.Redis("DEL", key)
	}
	third := b.Publish(ada, "a new one")
	b.wantConsistent("an old database")
	if err := b.SearchIndex.Build(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.wantConsistent("a new database")
	socialtest.WantIndexRight(b.Bundle)
	idsKey := func() string { return b.Redis("KEYS", "{search}.*.ids:0") } // a rebuild changes the key
	for name, c := range map[string]struct {
		damage func()
		want   string // part of the report
	}{
		"no index": {want: "is missing from the search index", damage: func() {
			for key := range strings.FieldsSeq(b.Redis("KEYS", "{search}*")) {
				b.Redis("DEL", key)
			}
		}},
		"a lost document": {want: "is missing from the search index", damage: func() {
			b.Redis("HDEL", idsKey(), storage.Itoa(third))
		}},
		"changed post": {want: "is missing from the search index", damage: func() {
			b.Redis("HSET", storage.PostKey(second), "body", "about rain")
		}},
		"a wrong type": {want: "WRONGTYPE", damage: func() {
			key := idsKey()
			b.Redis("DEL", key)
			b.Redis("SET", key, "nothing")
		}},
	} {
		c.damage()
		var found []string
		if _, err := b.Check(check.Options{Report: func(p check.Problem) { found = append(found, p.Detail) }}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
		b.repair()
		b.wantConsistent(name)
		socialtest.WantIndexRight(b.Bundle)
	}
	// A post that is being fanned out is not reported as missing.
	b.Redis("ZADD", "tasks", "1", b.PostTask(first))
	b.Redis("HDEL", idsKey(), storage.Itoa(first))
	report := func(p check.Problem) {
		if strings.Contains(p.Detail, "missing from the search index") {
			t.Error(p)
		}
	}
	if _, err := b.Check(check.Options{Report: report}); err != nil {
		t.Fatal(err)
	}
}
