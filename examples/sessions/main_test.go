package main

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const output = `ada uses the watch
another tenant does not know the token
logged in on [watch tablet laptop]
logged out of 3
`

func sessions(client rueidis.Client, tenant string, idle time.Duration) (exampletest.Sessions, error) {
	s, err := open(client, tenant, idle)
	if err != nil {
		return exampletest.Sessions{}, err
	}
	return exampletest.Sessions{
		Login: s.Login, Logout: s.Logout, Devices: s.Devices, None: errNoSession,
		Use: func(ctx context.Context, token string) (string, string, error) {
			session, err := s.Use(ctx, token)
			return session.User, session.Device, err
		},
		LogoutEverywhere: func(ctx context.Context, user string) (int, error) {
			n, err := s.LogoutEverywhere(ctx, user)
			return int(n), err
		},
		Active: func(ctx context.Context) (int, error) {
			n, err := s.Active(ctx)
			return int(n), err
		},
	}, nil
}

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	exampletest.CheckSessions(t, sessions)
}

func TestDevices(t *testing.T) {
	t.Parallel()
	exampletest.CheckDevices(t, sessions)
}

func TestIdle(t *testing.T) {
	t.Parallel()
	exampletest.CheckIdle(t, sessions)
}

func TestLines(t *testing.T) {
	t.Parallel()
	exampletest.Lines(t, "sessions")
}
