package web

import (
	"context"
	"fmt"
	"net/http"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"retwis/internal/app"
	"retwis/internal/social"
)

// admin returns an error unless an admin or an owner is logged in. For everybody else the
// page does not exist.
func (req *request) admin() error {
	if !req.signed || req.viewer.Role < social.Admin {
		return fmt.Errorf("%w: %w", errNotModerator, errNotFound)
	}
	return nil
}

// overviewView is the state of the site, as lines of text.
type overviewView struct{ Site, Work, Load []overviewLine }

// overviewLine is a value with its name. Bad marks one that an operator should look at.
type overviewLine struct {
	Name, Value string
	Bad         bool
}

// overview shows the state of the site. It reads counters, not the lists that they count:
// ten commands and the memory of each server, whatever the size of the site.
func (s *Server) overview(req *request) error {
	if err := req.admin(); err != nil {
		return err
	}
	var view overviewView
	accounts, posts, err := s.app.Totals(req.ctx)
	if err != nil {
		return err
	}
	reports, err := s.app.Reports.OpenReportCount(req.ctx)
	if err != nil {
		return err
	}
	view.Site = []overviewLine{
		{"Accounts created", thousands(accounts), false},
		{"Posts created", thousands(posts), false},
		{"Open reports", thousands(reports), false},
	}
	last, err := s.lastBackup(req.ctx)
	if err != nil {
		return err
	}
	view.Site = append(view.Site, last)
	if view.Work, err = s.backgroundWork(req.ctx); err != nil {
		return err
	}
	view.Load = []overviewLine{
		{"Requests", fmt.Sprintf("%.1f a second, in the last minute", s.metrics.Meter.PerSecond(time.Now())), false},
		{"Open pages", thousands(int64(s.live.Connections())), false},
		{"Memory of this process", megabytes(processMemory()), false},
	}
	servers := s.app.Memory(req.ctx)
	for _, use := range servers {
		line := overviewLine{Name: "Memory of the database", Value: megabytes(use.Used)}
		if use.Max > 0 {
			line.Value += fmt.Sprintf(" of %s (%.0f %%)", megabytes(use.Max), 100*use.Share())
			line.Bad = use.Share() > 0.8
		}
		if len(servers) > 1 {
			line.Name += " at " + use.Address
		}
		view.Load = append(view.Load, line)
	}
	view.Load = append(view.Load, overviewLine{"Version", s.version, false})
	return req.render(http.StatusOK, overviewPage(req.page("Overview"), view))
}

func (s *Server) lastBackup(ctx context.Context) (overviewLine, error) {
	at, err := s.app.LastBackup(ctx)
	line := overviewLine{Name: "Last backup", Value: "never", Bad: true}
	if !at.IsZero() {
		line.Value, line.Bad = humanTime(at), time.Since(at) > app.BackupDue
	}
	return line, err
}

// backgroundWork is what is done after the response to a request.
func (s *Server) backgroundWork(ctx context.Context) (lines []overviewLine, err error) {
	work, err := s.app.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	line := overviewLine{Name: "Unfinished work, such as posts on their way to timelines", Value: thousands(work.Waiting)}
	if work.Stalled > time.Minute {
		line.Value += ", waiting for " + work.Stalled.Round(time.Second).String()
		line.Bad = true
	}
	lines = append(lines, line)
	dead, err := s.app.DeadJobs(ctx)
	return append(lines, overviewLine{"Work given up", strconv.FormatInt(dead, 10), dead > 0}), err
}

// processMemory is the memory that this process has from the system, in bytes.
func processMemory() int64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

func megabytes(bytes int64) string {
	return thousands((bytes+1<<19)>>20) + " MB"
}
