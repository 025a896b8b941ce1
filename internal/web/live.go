package web

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social/live"
	"retwis/internal/social/text"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Event streams that a page can follow, as named in view.Frame.Live and in the query of an event
// stream.
const (
	liveHome     = "home"
	liveTimeline = "timeline"
)

func liveTag(tag string) string { return "tag:" + tag }

func liveThread(root int64) string { return "thread:" + strconv.FormatInt(root, 10) }

func liveProfile(uid int64) string { return "profile:" + strconv.FormatInt(uid, 10) }

// liveUpdates makes a page follow stream, unless the page shows a later part of a list. Every page
// follows the counts of its posts and the number of unread notifications.
func liveUpdates(hub *live.Hub, f view.Frame, stream string, later bool) view.Frame {
	if !later {
		f.Live, f.Since = stream, hub.Position()
	}
	return f
}

var errLive = &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("This address is not valid.")}

// subscription parses the query of an event stream. on is what the page shows (home, timeline,
// tag:NAME, thread:ID, profile:ID or nothing), ids are the IDs of the posts whose counts the page
// shows, and since is the last event in the page. A reconnecting browser sends the ID of the last
// event it received.
func subscription(req *request.Request) (live.Subscription, error) {
	query := req.R.URL.Query()
	sub := live.Subscription{Viewer: req.User, Session: req.SessionSecret, Since: query.Get("since"), Address: req.Address()}
	if last := req.R.Header.Get("Last-Event-ID"); last != "" {
		sub.Since = last
	}
	var err error
	kind, value, _ := strings.Cut(query.Get("on"), ":")
	switch kind {
	case "":
	case liveHome:
		sub.Page = live.Home
	case liveTimeline:
		sub.Page = live.Everyone
	case "tag":
		var ok bool
		sub.Page = live.Tag
		if sub.Tag, ok = text.FoldTag(value); !ok {
			return sub, errLive
		}
	case "thread":
		sub.Page = live.Thread
		sub.ID, err = liveID(value)
	case "profile":
		sub.Page = live.Profile
		sub.ID, err = liveID(value)
	default:
		return sub, errLive
	}
	if err != nil {
		return sub, err
	}
	if ids := query.Get("ids"); ids != "" {
		if strings.Count(ids, ",") >= live.MaxPosts {
			return sub, errLive
		}
		for postID := range strings.SplitSeq(ids, ",") {
			id, err := liveID(postID)
			if err != nil {
				return sub, err
			}
			sub.Posts = append(sub.Posts, id)
		}
	}
	return sub, nil
}

func liveID(typed string) (int64, error) {
	id, err := strconv.ParseInt(typed, 10, 64)
	if err != nil || id < 1 {
		return 0, errLive
	}
	return id, nil
}

// events sends server-sent events while a page is open.
//
// events hijacks the connection: the server's timeouts no longer apply, and the goroutine of the
// request ends. A connection that cannot be hijacked, as with HTTP/2, keeps its goroutine.
func (h *handlers) events(req *request.Request) error {
	sub, err := subscription(req)
	if err != nil {
		return err
	}
	header := req.W.Header()
	header["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	header["Cache-Control"] = []string{"no-store"}
	header["X-Accel-Buffering"] = []string{"no"} // keeps proxies from buffering
	if req.R.Method == http.MethodHead {
		req.W.WriteHeader(http.StatusOK)
		return nil
	}
	hijacker, ok := req.W.(http.Hijacker)
	if ok && live.CanTakeOver && req.R.TLS == nil && req.R.ProtoMajor == 1 {
		_, err = h.live.Attach(req.Ctx, sub, func() (live.Conn, error) { return h.takeOver(req, hijacker) })
	} else {
		err = h.streamFromHandler(req, sub)
	}
	switch {
	case errors.Is(err, errHijacked):
		return nil
	case errors.Is(err, live.ErrTooMany):
		return &request.Error{Status: http.StatusTooManyRequests, Detail: i18n.T("You have too many pages of this site open. Close some of them.")}
	case errors.Is(err, live.ErrFull), errors.Is(err, live.ErrClosed):
		return &request.Error{Status: http.StatusServiceUnavailable, Detail: i18n.T("Too many pages are open. Please try again in a moment."), Cause: err}
	}
	return err
}

// errHijacked means that the connection failed after it was hijacked.
var errHijacked = errors.New("web: the connection failed after it was hijacked")

// takeOver hijacks the connection of a request and writes the header of the response.
func (h *handlers) takeOver(req *request.Request, hijacker http.Hijacker) (live.Conn, error) {
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return nil, err
	}
	fail := func(err error) (live.Conn, error) {
		conn.Close()
		return nil, errors.Join(errHijacked, err)
	}
	client, ok := live.NewConn(conn)
	if !ok {
		return fail(nil)
	}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	req.W.Header().Set("Connection", "close")
	if err := req.W.Header().Write(&head); err != nil {
		return fail(err)
	}
	head.WriteString("\r\n")
	if err := client.WriteAll(head.Bytes(), time.Now().Add(h.eventTime)); err != nil {
		return fail(err)
	}
	return client, nil
}

// streamFromHandler sends events from the goroutine of the request, after the handler has finished
// everything else.
func (h *handlers) streamFromHandler(req *request.Request, sub live.Subscription) error {
	queue := live.NewQueue()
	detach, err := h.live.Attach(req.Ctx, sub, func() (live.Conn, error) { return queue, nil })
	if err != nil {
		return err
	}
	req.Stream = func() {
		defer detach()
		// Not every server supports deadlines.
		_ = http.NewResponseController(req.W).SetReadDeadline(time.Time{})
		req.W.WriteHeader(http.StatusOK)
		queue.Run(req.R.Context(), func(p []byte) error {
			_, err := httpserver.WriteWithin(req.W, req.R, p, h.eventTime)
			return err
		})
	}
	return nil
}
