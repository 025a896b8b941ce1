package partition

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// mode is a client that only reports its mode.
type mode struct {
	rueidis.Client
	kind rueidis.ClientMode
}

func (m mode) Mode() rueidis.ClientMode { return m.kind }

func TestKeys(t *testing.T) {
	t.Parallel()
	single, cluster := mode{kind: rueidis.ClientModeStandalone}, mode{kind: rueidis.ClientModeCluster}
	for _, test := range []struct {
		client     mode
		key        string
		partitions int
		first      string // key of the first partition, or the expected error
	}{
		{single, "ages", 1, "ages"},
		{single, "ages", 3, "{ages.0}"},
		{single, "app:{ages}:by", 3, "app:{ages.0}:by"},
		{single, "a{b", 1, "a{b"},
		{single, "a{b", 2, "has a brace but no hash tag"},
		{single, "{}a", 2, "has a brace but no hash tag"},
		{single, "", 1, "from 1 to 1024"},
		{single, strings.Repeat("x", 1025), 1, "from 1 to 1024"},
		{single, "ages", 1025, "from 1 to 1024 are allowed"},
		{single, "ages", -1, "from 1 to 1024 are allowed"},
		{cluster, "{ages}", 1, "{ages}"},
		{cluster, "ages", 1, `call it "{ages}"`},
		{cluster, "ages", 2, "{ages.0}"},
	} {
		s, err := New(test.client, test.key, Declaration{Kind: "k", Partitions: test.partitions})
		if err != nil {
			if !strings.Contains(err.Error(), test.first) {
				t.Errorf("%.20q: %v, want %q", test.key, err, test.first)
			}
			continue
		}
		if s.Keys[0].Index != test.first || len(s.Keys) != test.partitions {
			t.Errorf("%q: %d partitions from %q, want %d from %q", test.key, len(s.Keys), s.Keys[0].Index, test.partitions, test.first)
		}
		for _, k := range s.Keys {
			for _, key := range k.All() {
				if !strings.HasPrefix(key, k.Index) {
					t.Errorf("%q is not in the slot of %q", key, k.Index)
				}
			}
		}
	}
}
