package social

// MaxPage is the maximum number of posts or people on a page.
const MaxPage = 200

// PageSize returns the number of entries on a page for a requested limit.
func PageSize(limit int) int { return max(1, min(limit, MaxPage)) }

// People is one page of users, and the cursor of the next page, empty at the end. A page can have
// fewer users than requested even if another page follows, if most of the entries read are hidden
// from the viewer.
type People struct {
	Users []User
	Next  string
}

// MaxLooks limits how often a page reads more entries because the entries read so far are hidden
// from the viewer.
const MaxLooks = 5
