package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestUsage(t *testing.T) {
	t.Parallel()
	exampletest.Usage(t)
}

const output = `ada uses the watch
another tenant does not know the token
logged in on [watch tablet laptop]
logged out of 3
`

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

// session is a session of the model in memory.
type session struct{ token, user, device string }

// TestSessions compares the sessions of several tenants with lists in memory.
func TestSessions(t *testing.T) {
	t.Parallel()
	client := exampletest.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		if err := client.Do(ctx, client.B().Flushdb().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		// Joined, some of these names are ambiguous.
		tenants, users := []string{"a", "a:b", "*"}, []string{"c", "b:c", "ü \n"}
		stores := map[string]*Sessions{}
		for _, tenant := range tenants {
			stores[tenant] = exampletest.Must[*Sessions](t)(open(t.Context(), client, tenant, time.Hour))
		}
		live := map[string][]session{} // by tenant, oldest first
		var tokens []string
		tenant, user := rapid.SampledFrom(tenants), rapid.SampledFrom(users)
		t.Repeat(map[string]func(*rapid.T){
			"login": func(t *rapid.T) {
				tenantID, user := tenant.Draw(t, "tenant"), user.Draw(t, "user")
				device := fmt.Sprint("device", len(tokens))
				token := exampletest.Must[string](t)(stores[tenantID].Login(ctx, user, device))
				tokens = append(tokens, token)
				live[tenantID] = append(live[tenantID], session{token, user, device})
				byUser := func(s session) bool { return s.user == user }
				if devices := ofUser(live[tenantID], user); len(devices) > maxDevices {
					first := slices.IndexFunc(live[tenantID], byUser)
					live[tenantID] = slices.Delete(live[tenantID], first, first+1)
				}
			},
			"use": func(t *rapid.T) {
				tenantID := tenant.Draw(t, "tenant")
				token := rapid.SampledFrom(append(tokens, "")).Draw(t, "token")
				i := slices.IndexFunc(live[tenantID], func(s session) bool { return s.token == token })
				got, err := stores[tenantID].Use(ctx, token)
				switch {
				case i < 0 && !errors.Is(err, errNoSession):
					t.Fatalf("Use of an unknown token, or a token of another tenant = %+v, %v; want errNoSession", got, err)
				case i >= 0 && (err != nil || got.User != live[tenantID][i].user || got.Device != live[tenantID][i].device):
					t.Fatalf("Use = %+v, %v; want %+v", got, err, live[tenantID][i])
				}
			},
			"logout": func(t *rapid.T) {
				tenantID := tenant.Draw(t, "tenant")
				token := rapid.SampledFrom(append(tokens, "")).Draw(t, "token")
				i := slices.IndexFunc(live[tenantID], func(s session) bool { return s.token == token })
				if err := stores[tenantID].Logout(ctx, token); (i < 0) != errors.Is(err, errNoSession) || i >= 0 && err != nil {
					t.Fatalf("Logout: %v; the session exists: %v", err, i >= 0)
				}
				if i >= 0 {
					live[tenantID] = slices.Delete(live[tenantID], i, i+1)
				}
			},
			"logout everywhere": func(t *rapid.T) {
				tenantID, user := tenant.Draw(t, "tenant"), user.Draw(t, "user")
				if n, err := stores[tenantID].LogoutEverywhere(ctx, user); err != nil || n != int64(len(ofUser(live[tenantID], user))) {
					t.Fatalf("%d sessions ended, want %d: %v", n, len(ofUser(live[tenantID], user)), err)
				}
				live[tenantID] = slices.DeleteFunc(live[tenantID], func(s session) bool { return s.user == user })
			},
			"": func(t *rapid.T) {
				for _, tenantID := range tenants {
					for _, user := range users {
						if devices := exampletest.Must[[]string](t)(stores[tenantID].Devices(ctx, user)); !slices.Equal(devices, ofUser(live[tenantID], user)) {
							t.Fatalf("%q is logged in at %q on %q; want %q", user, tenantID, devices, ofUser(live[tenantID], user))
						}
					}
					if n := exampletest.Must[int64](t)(stores[tenantID].Active(ctx)); n != int64(len(live[tenantID])) {
						t.Fatalf("%d sessions at %q; want %d", n, tenantID, len(live[tenantID]))
					}
				}
			},
		})
	})
}

// ofUser returns the devices of a user, newest first.
func ofUser(live []session, user string) (devices []string) {
	for _, s := range slices.Backward(live) {
		if s.user == user {
			devices = append(devices, s.device)
		}
	}
	return devices
}

// TestDevices checks that a user keeps three devices after many concurrent logins.
func TestDevices(t *testing.T) {
	t.Parallel()
	client, ctx := exampletest.Client(t), t.Context()
	s := exampletest.Must[*Sessions](t)(open(t.Context(), client, "tenant", time.Hour))
	tokens := make([]string, 24)
	exampletest.Together(len(tokens), func(i int) {
		var err error
		if tokens[i], err = s.Login(ctx, "user", fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
	})
	if devices := exampletest.Must[[]string](t)(s.Devices(ctx, "user")); len(devices) != maxDevices {
		t.Errorf("the user has the devices %q, want %d", devices, maxDevices)
	}
	live := 0
	for _, token := range tokens {
		if _, err := s.Use(ctx, token); err == nil {
			live++
		} else if !errors.Is(err, errNoSession) {
			t.Error(err)
		}
	}
	if live != maxDevices {
		t.Errorf("%d tokens are valid, want %d", live, maxDevices)
	}
}

// TestIdle checks that a session expires when idle, and not before.
func TestIdle(t *testing.T) {
	t.Parallel()
	const idle = 400 * time.Millisecond
	client, ctx := exampletest.Client(t), t.Context()
	s := exampletest.Must[*Sessions](t)(open(t.Context(), client, "tenant", idle))
	longLived := exampletest.Must[*Sessions](t)(open(t.Context(), client, "tenant", time.Hour))
	start, expired := time.Now(), time.Time{}
	token := exampletest.Must[string](t)(s.Login(ctx, "user", "device"))
	kept := exampletest.Must[string](t)(longLived.Login(ctx, "user", "kept"))
	if _, err := longLived.Use(ctx, kept); err != nil {
		t.Fatal(err)
	}
	// A record may be readable in the millisecond in which it expires.
	for expired.IsZero() || time.Since(expired) < 2*time.Millisecond {
		if n := exampletest.Must[int64](t)(s.Active(ctx)); n == 1 && expired.IsZero() {
			expired = time.Now()
		}
	}
	if took := expired.Sub(start); took < idle-2*time.Millisecond { // the server rounds to milliseconds
		t.Errorf("the session expired after %v, want at least %v", took, idle)
	}
	if _, err := s.Use(ctx, token); !errors.Is(err, errNoSession) {
		t.Errorf("Use of an expired session: %v, want errNoSession", err)
	}
	if devices := exampletest.Must[[]string](t)(s.Devices(ctx, "user")); !slices.Equal(devices, []string{"kept"}) {
		t.Errorf("the user has the devices %q, want kept", devices)
	}
}
