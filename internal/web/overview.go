package web

import (
	"fmt"
	"net/http"
	runtimemetrics "runtime/metrics"
	"time"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// overview shows what needs attention and, to admins, the state of the site. It reads counters
// rather than lists: a dozen commands and the memory of each server, whatever the size of the site.
func (h *handlers) overview(req *request.Request) error {
	overview, err := h.pendingDecisions(req)
	if err != nil {
		return err
	}
	if req.User.Role >= social.Admin {
		if err := h.siteState(req, &overview); err != nil {
			return err
		}
	}
	return req.Render(http.StatusOK, view.OverviewPage(req.Frame(req.T("Moderation")), overview))
}

// toOverview redirects from the former address of the overview.
func toOverview(req *request.Request) error { return req.Redirect(view.ModerationPath) }

// pendingDecisions returns an overview with the reports and sign-ups that wait for a decision.
func (h *handlers) pendingDecisions(req *request.Request) (overview view.Overview, err error) {
	reports, err := h.app.Reports.OpenReportCount(req.Ctx)
	if err != nil {
		return overview, err
	}
	if reports > 0 {
		since, err := h.app.Reports.OldestReport(req.Ctx)
		if err != nil {
			return overview, err
		}
		overview.Attention = append(overview.Attention, view.Attention{
			Text: req.N(reports, "{n} open report", "{n} open reports"), Since: since, Path: view.ReportsPath,
		})
	}
	signUps, err := h.app.Applications.Count(req.Ctx)
	if signUps > 0 {
		overview.Attention = append(overview.Attention, view.Attention{
			Text: req.N(signUps, "{n} sign-up waiting for approval", "{n} sign-ups waiting for approval"), Path: "/moderation/signups",
		})
	}
	return overview, err
}

// siteState adds the state of the site and what needs attention in it.
func (h *handlers) siteState(req *request.Request, overview *view.Overview) error {
	accounts, posts, err := h.app.Totals(req.Ctx)
	if err != nil {
		return err
	}
	last, err := h.lastBackup(req)
	if err != nil {
		return err
	}
	overview.Site = []view.OverviewLine{
		{Name: req.T("Accounts created"), Value: req.Language.Number(accounts)},
		{Name: req.T("Posts created"), Value: req.Language.Number(posts)},
	}
	if overview.Work, err = h.backgroundWork(req); err != nil {
		return err
	}
	overview.Load = h.load(req)
	for _, lines := range [][]view.OverviewLine{overview.Work, overview.Load} {
		for _, line := range lines {
			if line.Bad {
				overview.Attention = append(overview.Attention, view.Attention{Text: req.T("{name}: {value}", line.Name, line.Value)})
			}
		}
	}
	if !last.Bad {
		overview.Site = append(overview.Site, last)
		return nil
	}
	overview.Attention = append(overview.Attention, view.Attention{
		Text: req.T("{name}: {value}", last.Name, last.Value),
		Hint: req.T("Once a day, run on the server: {command}", "retwis backup --keep 14 DIRECTORY"),
	})
	return nil
}

// load returns the load of this process and its database.
func (h *handlers) load(req *request.Request) []view.OverviewLine {
	lines := []view.OverviewLine{
		{Name: req.T("Requests"), Value: req.T("{number} per second over the last minute", fmt.Sprintf("%.1f", h.metrics.Meter.PerSecond(time.Now())))},
		{Name: req.T("Open pages"), Value: req.Language.Number(int64(h.live.Connections()))},
		{Name: req.T("Memory of this process"), Value: megabytes(req, processMemory())},
	}
	servers := h.app.Memory(req.Ctx)
	for _, use := range servers {
		line := view.OverviewLine{Name: req.T("Memory of the database"), Value: megabytes(req, use.Used)}
		if use.Max > 0 {
			line.Value = req.T("{used} of {most} ({share} %)", megabytes(req, use.Used), megabytes(req, use.Max), fmt.Sprintf("%.0f", 100*use.Share()))
			line.Bad = use.Share() > 0.8
		}
		if len(servers) > 1 {
			line.Name = req.T("Memory of the database at {address}", use.Address)
		}
		lines = append(lines, line)
	}
	return append(lines, view.OverviewLine{Name: req.T("Version"), Value: h.version})
}

func (h *handlers) lastBackup(req *request.Request) (view.OverviewLine, error) {
	at, err := h.app.LastBackup(req.Ctx)
	line := view.OverviewLine{Name: req.T("Last backup"), Value: req.T("never"), Bad: true}
	if !at.IsZero() {
		line.Value, line.Bad = req.Language.Time(at), time.Since(at) > app.BackupDue
	}
	return line, err
}

// backgroundWork describes the background jobs.
func (h *handlers) backgroundWork(req *request.Request) (lines []view.OverviewLine, err error) {
	work, err := h.app.Backlog(req.Ctx)
	if err != nil {
		return nil, err
	}
	line := view.OverviewLine{Name: req.T("Background jobs waiting"), Value: req.Language.Number(work.Waiting)}
	if work.Stalled > time.Minute {
		line.Value = req.T("{number}, overdue since {time}", work.Waiting, time.Now().Add(-work.Stalled))
		line.Bad = true
	}
	lines = append(lines, line)
	dead, err := h.app.DeadJobs(req.Ctx)
	return append(lines, view.OverviewLine{Name: req.T("Background jobs failed"), Value: req.Language.Number(dead), Bad: dead > 0}), err
}

// processMemory returns the memory that this process has obtained from the system, in bytes.
func processMemory() int64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

func megabytes(req *request.Request, bytes int64) string {
	return req.T("{number} MB", (bytes+1<<19)>>20)
}
