package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

var (
	exported     = regexp.MustCompile(`(?m)^# TYPE (retwis_\w+) (\w+)$`)
	metricRow    = regexp.MustCompile("(?m)^\\| `(retwis_\\w+)` \\|")
	metricName   = regexp.MustCompile(`retwis_\w+`)
	adminAddress = regexp.MustCompile(`pages for operators" url=(http://\S+)`)
)

// docs/operations.md lists exactly the exported metrics; the dashboard and the alert rules use no
// others.
func TestMetricsAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "site.crt"), filepath.Join(dir, "site.key")
	writePair(t, cert, key, 1)
	s := serveOn(t, redistest.DB(t).URL(), "--admin-addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	s.waitForLog(t, "pages for operators")
	admin := adminAddress.FindStringSubmatch(s.err.String())[1]
	status, text, err := read(http.Get(admin + "/metrics"))
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: %d, %v", status, err)
	}
	known := map[string]bool{} // including the series of histograms
	var names []string
	for _, found := range exported.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
		known[found[1]] = true
		if found[2] == "histogram" || found[2] == "summary" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[found[1]+suffix] = true
			}
		}
	}
	// This metric is exported only with a replica.
	names = append(names, "retwis_redis_replica_connected")
	slices.Sort(names)
	docs, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := []string{}
	for _, found := range metricRow.FindAllStringSubmatch(string(docs), -1) {
		listed = append(listed, found[1])
	}
	slices.Sort(listed)
	if !slices.Equal(listed, names) {
		t.Errorf("docs/operations.md lists\n%q\n/metrics exports\n%q", listed, names)
	}
	for _, file := range []string{"../../deploy/prometheus/alerts.yml", "../../deploy/grafana/retwis.json"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, name := range metricName.FindAllString(string(content), -1) {
			used[name] = true
		}
		if len(used) < 10 {
			t.Errorf("%s uses %d metrics, want at least 10", file, len(used))
		}
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if !known[name] {
				t.Errorf("%s uses %s, which does not exist", file, name)
			}
		}
	}

	// The admin port serves profiles, but not the command line.
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/cmdline": 404} {
		if status, _, err := read(http.Get(admin + path)); err != nil || status != want {
			t.Errorf("%s: %d, %v; want %d", path, status, err, want)
		}
	}
}

// The alert rules have the structure that Prometheus expects; promtool checks them too if it is
// installed. The panels of the dashboard are complete.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	const path = "../../deploy/prometheus/alerts.yml"
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(rules)
	alerts := strings.Count(text, "- alert: Retwis")
	for _, field := range []string{"        expr: \"", "        for: ", "          severity: ", "          summary: \"", "          description: \""} {
		if n := strings.Count(text, "\n"+field); n != alerts || n == 0 {
			t.Errorf("%q occurs %d times, want once for each of %d alerts", field, n, alerts)
		}
	}
	if strings.Contains(text, "\t") {
		t.Error("the rules contain a tab, which YAML does not allow")
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.Command(promtool, "check", "rules", path).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v: %s", err, out)
		}
	}

	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr, RefID string }
		}
	}
	content, err := os.ReadFile("../../deploy/grafana/retwis.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || panel.Title == "" || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %d %q has a duplicate ID, no title, or no query", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
	}
}
