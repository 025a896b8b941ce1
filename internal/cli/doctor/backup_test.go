package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLastBackup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		age   time.Duration
		err   error
		want  Status
		found string
	}{
		"fresh":   {3*time.Hour + time.Minute, nil, OK, "3 hours ago"},
		"nightly": {25*time.Hour + time.Minute, nil, OK, "25 hours ago"},
		"old":     {27 * time.Hour, nil, Advice, "27 hours ago"},
		"ancient": {73 * time.Hour, nil, Advice, "3 days ago"},
		"never":   {-1, nil, Advice, "never"},
		"hidden":  {-1, errors.New("NOPERM"), Hidden, "NOPERM"},
	} {
		var at time.Time
		if tt.age >= 0 {
			at = time.Now().Add(-tt.age)
		}
		f := lastBackup(at, tt.err)
		if f.Status != tt.want || !strings.HasSuffix(f.Found, tt.found) || (f.Do != "") != (f.Status == Advice) {
			t.Errorf("%s: finding %+v", name, f)
		}
	}
}
