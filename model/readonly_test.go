package model

import (
	"testing"

	"retwis/internal/redistest"
)

// A process that starts while the server refuses writes can read existing data: New does not
// write a declaration that is already published.
func TestNewWithoutWrites(t *testing.T) {
	t.Parallel()
	type user struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
		City  string `redis:"city,range"`
	}
	for name, refuse := range map[string][]string{
		"a replica":  {"REPLICAOF", "127.0.0.1", "1"},
		"no memory":  {"CONFIG", "SET", "maxmemory", "1"},
		"no replica": {"CONFIG", "SET", "min-replicas-to-write", "1"},
	} {
		for _, partitions := range []int{1, 3} {
			opt := Options{Name: "user", Partitions: partitions}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				client := redistest.Own(t).Client(t)
				users, err := New[user](t.Context(), client, opt)
				if err != nil {
					t.Fatal(err)
				}
				ada, err := users.Create(t.Context(), user{Email: "ada@example.com", City: "London"})
				if err != nil {
					t.Fatal(err)
				}
				if err := client.Do(t.Context(), client.B().Arbitrary(refuse...).Build()).Error(); err != nil {
					t.Fatal(err)
				}
				if users, err = New[user](t.Context(), client, opt); err != nil {
					t.Fatal(err)
				}
				if got, err := users.Get(t.Context(), ada.ID); err != nil || got != ada {
					t.Fatalf("Get: %+v, %v; want %+v", got, err, ada)
				}
				if got, err := users.Find(Prefix("city", "Lon")).Slice(t.Context()); err != nil || len(got) != 1 {
					t.Fatalf("Find: %+v, %v; want 1 record", got, err)
				}
				if _, err := users.Create(t.Context(), user{}); err == nil {
					t.Fatal("Create succeeded although the server refuses writes")
				}
			})
		}
	}
}
