package store_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

// allow adds the user ada with some permissions to a server.
func allow(t *testing.T, server *redistest.Server, rights string) {
	t.Helper()
	c := server.Client(t)
	words := append([]string{"ACL", "SETUSER", "ada", "reset", "on", ">lovelace", "~*", "&*"}, strings.Fields(rights)...)
	if err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, url, want string, not ...string) {
	t.Helper()
	db, err := store.Open(t.Context(), url, quiet)
	if err == nil {
		db.Close()
		t.Errorf("%s was opened, want %q", url, want)
		return
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	for _, text := range append(not, "lovelace", "hunter2") {
		if strings.Contains(err.Error(), text) {
			t.Errorf("%v, which says %q", err, text)
		}
	}
}

// A missing permission is reported by name.
func TestMissingPermissions(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	url := fmt.Sprintf("redis://ada:lovelace@127.0.0.1:%d", server.Port())
	allow(t, server, "+@all -client")
	wantError(t, url, "denies this user a command or key that retwis needs", "6.2 or newer", "RESP3")
	wantError(t, url, "'client")
	allow(t, server, "+@all -info -ping")
	db, err := store.Open(t.Context(), url, quiet)
	if err != nil {
		t.Fatalf("without rights that are not needed: %v", err)
	}
	db.Close()
}

// A node of a Cluster that denies CLUSTER SLOTS is not taken for a standalone server.
func TestMissingPermissionsCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	var hosts []string
	for _, master := range cluster.Masters {
		allow(t, master, "+@all -cluster +cluster|info")
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", master.Port()))
	}
	for _, some := range []string{hosts[0], strings.Join(hosts, ",")} {
		wantError(t, "redis+cluster://ada:lovelace@"+some, "'cluster", "not a node of a Cluster")
	}
	single := redistest.TCP(t)
	wantError(t, fmt.Sprintf("redis+cluster://127.0.0.1:%d", single.Port()), "not a node of a Cluster; use redis://")
	wantError(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", single.Port()), "the server is not a sentinel; use redis://")
}

// An error of a sentinel is not attributed to the server.
func TestSentinelAccess(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	allow(t, master, "+@all")
	sentinel := redistest.Sentinel(t, "main", master)
	url := fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port())
	as := func(user, parameters string) string {
		return strings.Replace(url, "//", "//"+user, 1) + parameters
	}
	wantError(t, as("ada:wrong@", ""), "the server rejects this user and password")
	wantError(t, fmt.Sprintf("redis://127.0.0.1:%d", sentinel.Port()), "use redis+sentinel://")
	wantError(t, as("", "?sentinel_username=ada&sentinel_password=hunter2"), "the sentinel rejects this user", "the server does not")
	allow(t, sentinel, "+@all -client")
	wantError(t, as("", "?sentinel_username=ada&sentinel_password=lovelace"), "the sentinel denies this user", "RESP3")
	allow(t, sentinel, "+@all")
	open(t, as("ada:lovelace@", "?sentinel_username=ada&sentinel_password=lovelace"))
	c := sentinel.Client(t)
	if err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER", "default", "resetpass", ">hunter2").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	wantError(t, as("ada:lovelace@", ""), "sentinel_password")
	open(t, as("ada:lovelace@", "?sentinel_password=hunter2"))
}
