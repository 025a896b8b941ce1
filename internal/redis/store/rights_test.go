package store_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

// allow gives the user ada the permissions on a server, and no others.
func allow(t *testing.T, server *redistest.Server, permissions string) {
	t.Helper()
	c := server.Client(t)
	words := append([]string{"ACL", "SETUSER", "ada", "reset", "on", ">lovelace", "~*", "&*"}, strings.Fields(permissions)...)
	if err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// wantError checks that Open returns an error that contains want, but neither a password nor any
// text in unwanted.
func wantError(t *testing.T, url, want string, unwanted ...string) {
	t.Helper()
	db, err := store.Open(t.Context(), url, quiet)
	if err == nil {
		db.Close()
		t.Errorf("Open(%s) succeeded, want %q", url, want)
		return
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("Open(%s): %v, want %q", url, err, want)
	}
	for _, text := range append(unwanted, "lovelace", "hunter2") {
		if strings.Contains(err.Error(), text) {
			t.Errorf("Open(%s): %v, which contains %q", url, err, text)
		}
	}
}

// The error for a missing permission names the command.
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
		t.Fatalf("Open without optional permissions: %v", err)
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
	for _, addresses := range []string{hosts[0], strings.Join(hosts, ",")} {
		wantError(t, "redis+cluster://ada:lovelace@"+addresses, "'cluster", "not a node of a Cluster")
	}
	single := redistest.TCP(t)
	wantError(t, fmt.Sprintf("redis+cluster://127.0.0.1:%d", single.Port()), "not a node of a Cluster; use redis://")
	wantError(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", single.Port()), "the server is not a sentinel; use redis://")
}

// The error tells whether a sentinel or the server has denied access.
func TestSentinelAccess(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	allow(t, master, "+@all")
	sentinel := redistest.Sentinel(t, "main", master)
	url := fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port())
	urlWith := func(user, parameters string) string {
		return strings.Replace(url, "//", "//"+user, 1) + parameters
	}
	wantError(t, urlWith("ada:wrong@", ""), "the server rejects this user and password")
	wantError(t, fmt.Sprintf("redis://127.0.0.1:%d", sentinel.Port()), "use redis+sentinel://")
	wantError(t, urlWith("", "?sentinel_username=ada&sentinel_password=hunter2"), "the sentinel rejects this user", "the server does not")
	allow(t, sentinel, "+@all -client")
	wantError(t, urlWith("", "?sentinel_username=ada&sentinel_password=lovelace"), "the sentinel denies this user", "RESP3")
	allow(t, sentinel, "+@all")
	open(t, urlWith("ada:lovelace@", "?sentinel_username=ada&sentinel_password=lovelace"))
	c := sentinel.Client(t)
	if err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER", "default", "resetpass", ">hunter2").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	wantError(t, urlWith("ada:lovelace@", ""), "sentinel_password")
	open(t, urlWith("ada:lovelace@", "?sentinel_password=hunter2"))
}
