package live

import (
	"strconv"

	"retwis/internal/social"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/timeline"
)

// The events, in the format of server-sent events:
//
//	posts   ids of new posts, separated by commas
//	counts  id:replies:reposts:likes of posts, separated by commas; id:gone for a
//	        post that the viewer must not see any more
//	unread  the number of unread notifications; 100 means 100 or more
//	reset   the client has missed events and must load the page again

func appendID(b []byte, id stream.ID) []byte {
	b = append(b, "id: "...)
	b = strconv.AppendInt(b, id.MS, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, id.Seq, 10)
	return append(b, '\n')
}

func appendPosts(b []byte, id stream.ID, posts ...int64) []byte {
	b = append(appendID(b, id), "event: posts\ndata: "...)
	for i, post := range posts {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, post, 10)
	}
	return append(b, "\n\n"...)
}

func appendReset(b []byte, id stream.ID) []byte {
	return append(appendID(b, id), "event: reset\ndata: 1\n\n"...)
}

// appendHeartbeat appends a heartbeat. It advances the client's last event ID, so that the hub need
// not search older entries when the client reconnects.
func appendHeartbeat(b []byte, id stream.ID) []byte {
	return append(appendID(append(b, ":\n"...), id), '\n')
}

func appendUnread(b []byte, unread int) []byte {
	b = strconv.AppendInt(append(b, "event: unread\ndata: "...), int64(unread), 10)
	return append(b, "\n\n"...)
}

func appendCounts(b []byte, v *social.Viewer, posts []*timeline.View) []byte {
	if len(posts) == 0 {
		return b
	}
	b = append(b, "event: counts\ndata: "...)
	for i, post := range posts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCount(b, post.ID, post.Counts, social.Visible(v, post.Post) == social.Hidden)
	}
	return append(b, "\n\n"...)
}

func appendCount(b []byte, id int64, counts social.PostCounts, deleted bool) []byte {
	b = strconv.AppendInt(b, id, 10)
	if deleted {
		return append(b, ":gone"...)
	}
	for _, n := range [...]int64{counts.Replies, counts.Reposts, counts.Likes} {
		b = strconv.AppendInt(append(b, ':'), n, 10)
	}
	return b
}

// farewell returns a message that asks the nth client to reconnect after a pause. The pause depends
// on n, so that ten thousand clients do not reconnect at once.
func farewell(n int) []byte {
	return append(strconv.AppendInt([]byte("retry: "), 500+int64(n*37%2500), 10), "\n\n"...)
}
