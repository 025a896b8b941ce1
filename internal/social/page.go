package social

// MaxPage bounds how many posts or people a page has.
const MaxPage = 200

// PageSize returns how many entries a page has where so many are asked for.
func PageSize(limit int) int { return max(1, min(limit, MaxPage)) }

// People is one page of users, and the cursor of the next page, empty at the
// end. A page can have fewer users than asked for although another follows, where
// most of those who were there are hidden from the viewer.
type People struct {
	Users []User
	Next  string
}

// MaxLooks bounds how often a page reads further because what was there is hidden from the
// viewer.
const MaxLooks = 5
