package check_test

import (
	"slices"
	"strings"
	"testing"

	"retwis/internal/social/check"
)

// A name and a tag that are completed no more, because the indexes have lost them, are
// found and come back. A task of a version to come is left to it.
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
	b.wantWhole("a new database")
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
		if !slices.Contains(found, want+" is not completed while people type") {
			t.Errorf("%s is not found: %q", want, found)
		}
	}
	b.repair()
	for prefix, want := range map[string]string{"ad": "ada", "be": "ben"} {
		if names, err := index.Names(b.Ctx, prefix, 5); err != nil || len(names) != 1 || names[0].Username != want {
			t.Errorf("%s: %v, %v", prefix, names, err)
		}
	}
	if tags, err := index.Tags(b.Ctx, "t", 5); err != nil || !slices.Equal(tags, []string{"tea"}) {
		t.Errorf("%v, %v", tags, err)
	}
	if got := b.Redis("ZRANGE", "tasks", "0", "-1"); got != "teleport:1" {
		t.Errorf("tasks: %q", got)
	}
}
