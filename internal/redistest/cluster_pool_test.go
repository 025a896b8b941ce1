package redistest

import "testing"

func TestClusterIsReused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s *Server){
		"data":          func(t *testing.T, s *Server) { set(t, s.Client(t), "v") },
		"configuration": func(t *testing.T, s *Server) { arbitrary(t, s, "CONFIG", "SET", "maxmemory", "1gb") },
		"users":         func(t *testing.T, s *Server) { arbitrary(t, s, "ACL", "SETUSER", "ada", "on") },
		"slots":         func(t *testing.T, s *Server) { arbitrary(t, s, "CLUSTER", "DELSLOTS", "0") },
		"restarted":     func(t *testing.T, s *Server) { s.Restart(t, true) },
		"killed":        func(t *testing.T, s *Server) { s.Kill(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster(t, 1)
			change(t, c.Masters[0])
			if got, want := c.reset(), name == "data"; got != want {
				t.Errorf("reset() = %v, want %v", got, want)
			}
		})
	}
}

func TestClusterMustBeEmpty(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 1)
	if err := c.checkEmpty(); err != nil {
		t.Error(err)
	}
	set(t, c.Masters[0].Client(t), "v")
	if c.checkEmpty() == nil {
		t.Error("checkEmpty accepted a Cluster with a key")
	}
}

// arbitrary sends a command to a server.
func arbitrary(t *testing.T, s *Server, words ...string) {
	t.Helper()
	c := s.Client(t)
	if err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}
