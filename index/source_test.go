package index

import (
	"fmt"
	"testing"

	"retwis/maintain"
)

// Hashes refuses arguments that would fail in the middle of a scan.
func TestHashesRefused(t *testing.T) {
	t.Parallel()
	value := func(string, map[string]string) (int, bool, error) { return 0, true, nil }
	for _, pattern := range []string{"", "room", "a*b*", "a?*", "[a]*"} {
		if _, err := Hashes(offlineClient{}, pattern, value); err == nil {
			t.Errorf("Hashes accepted the pattern %q", pattern)
		}
	}
	if _, err := Hashes(nil, "room:*", value); err == nil {
		t.Error("Hashes accepted a nil client")
	}
	if _, err := Hashes[int](offlineClient{}, "room:*", nil); err == nil {
		t.Error("Hashes accepted a nil function")
	}
}

// All and Lookup ignore keys of other types.
func TestOnlyHashesAreObjects(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "types", 1)
	for i := range 3 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("DEL", o.key("1"))
	o.do("SET", o.key("1"), "a string")
	o.do("SADD", o.key("set"), "a member")
	if r := o.verify(); r.Dangling != 1 || r.Problems() != 1 {
		t.Fatalf("Verify: %+v, want 1 dangling", r)
	}
	if r, err := o.index.Repair(t.Context(), &o.source, maintain.Options{}); err != nil || r.Repaired != 1 {
		t.Fatalf("Repair: %+v, %v, want 1 repaired", r, err)
	}
	if _, err := Fetch(t.Context(), o.client, []string{"1"}, FetchOptions{Key: o.key}); err == nil {
		t.Error("Fetch of a string returned no error")
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "fetch", 1)
	for i := range 5 {
		o.put(fmt.Sprint(i), i)
	}
	o.do("DEL", o.key("2"))
	found, err := Fetch(t.Context(), o.client, []string{"4", "2", "0", "none"}, FetchOptions{Key: o.key})
	if err != nil || len(found) != 2 || found[0].ID != "4" || found[1].ID != "0" || found[1].Fields["age"] != "0" {
		t.Fatalf("Fetch: %+v, %v, want the hashes of 4 and 0", found, err)
	}
	selected, err := Fetch(t.Context(), o.client, []string{"4"}, FetchOptions{Key: o.key, Fields: []string{"age", "none"}})
	if err != nil || len(selected) != 1 || len(selected[0].Fields) != 1 {
		t.Fatalf("Fetch of fields: %+v, %v, want the hash of 4 with one field", selected, err)
	}
	// A hash without the requested fields still exists.
	selected, err = Fetch(t.Context(), o.client, []string{"none", "4", "2", "0"}, FetchOptions{Key: o.key, Fields: []string{"name"}})
	if err != nil || len(selected) != 2 || selected[0].ID != "4" || selected[1].ID != "0" || len(selected[0].Fields) != 0 {
		t.Fatalf("Fetch of a missing field: %+v, %v, want the hashes of 4 and 0 without fields", selected, err)
	}
}
